/** @module-tag slow */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type PretendInternet, PUBLIC_V4, PUBLIC_V6, pretendInternet } from '../../files/pretend-internet.ts'
import { backendForFile, createTestCollection, mint, settled, type TestBackend } from '../../helpers/backend.ts'
import { pngOf } from '../../helpers/file-server.ts'
import { gate } from '../../helpers/gate.ts'
import { report } from '../../helpers/seed.ts'

const ROWS = 80

let backend: TestBackend
let internet: PretendInternet

beforeAll(async () => {
  backend = await backendForFile({ allowPrivateFiles: false })
  internet = await pretendInternet([Number(new URL(backend.url).port)])
})
afterAll(async () => {
  await internet?.close()
})

const withFile = (url: string) => ({ title: url, description: '', file_fields: [{ key: 'image', url }] })

it('paces requests for many files of one host without delaying files of another', async () => {
  const collection = await createTestCollection(backend)
  const starts: number[] = []
  let active = 0
  let most = 0
  const hold = gate()
  internet.answer = (request, response) => {
    if (String(request.headers.host).startsWith('[')) return void response.end(pngOf('elsewhere'))
    starts.push(performance.now())
    most = Math.max(most, ++active)
    setTimeout(async () => {
      await hold.pass()
      active--
      response.end(pngOf(String(request.url)))
    }, 40)
  }
  const drop = await mint(
    backend,
    collection,
    Array.from({ length: ROWS }, (_, i) => withFile(`http://${PUBLIC_V4}/${i}.png`)),
  )
  const other = await mint(backend, collection, withFile(`http://[${PUBLIC_V6}]/a.png`))
  // Until then the host sends no file, so its requests in flight keep their places.
  const [elsewhere] = await settled(backend, other)
  expect(elsewhere?.status).toBe('deployed')
  expect(starts.length).toBeLessThanOrEqual(6)
  hold.open()
  const nfts = await settled(backend, drop)
  expect(nfts.filter(({ status }) => status !== 'deployed')).toEqual([])
  const busiest = Math.max(...starts.map((from) => starts.filter((at) => at >= from && at < from + 1000).length))
  report({ 'files of one host': ROWS, 'most at once': most, 'most in a second': busiest })
  expect(starts).toHaveLength(ROWS)
  expect(most).toBeLessThanOrEqual(6)
  // One each 20 ms, and those in flight.
  expect(busiest).toBeLessThanOrEqual(50 + 6)
})
