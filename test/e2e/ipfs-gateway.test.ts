import { afterEach, beforeEach, expect, test } from 'vitest'
import { OWNER } from '../helpers/addresses.ts'
import { type GdnHome, type GdnOptions, makeHome } from '../helpers/gdn.ts'
import { GatewayStandIn } from '../helpers/ipfs-gateway-stand-in.ts'

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')

let home: GdnHome
let gateway: GatewayStandIn
let image: string

beforeEach(async () => {
  home = await makeHome()
  gateway = await new GatewayStandIn().start()
  image = `ipfs://${await gateway.add({ '1.png': PNG })}/1.png`
})
afterEach(async () => {
  await home.run(['local', 'stop'])
  await gateway.close()
  await home.remove()
})

/** Starts a local backend and mints an NFT with the image. */
async function mintOn(flags: readonly string[], options: GdnOptions = {}) {
  const { url } = await home.json<{ url: string }>(['local', 'start', '--port', '0', ...flags], options)
  const owned = ['--local', '-b', 'polygon']
  await home.json(['collection', 'create', ...owned, '--name', 'Dawn', '--wallet', OWNER])
  const minted = await home.run(
    ['nft', 'mint', ...owned, '--title', 'x', '--receiver', OWNER, '--image', image, '--json'],
    options,
  )
  const served = await fetch(image.replace('ipfs://', `${url}/ipfs/`))
  return { ...minted, served: { status: served.status, body: Buffer.from(await served.arrayBuffer()) } }
}

test.each<[string, (url: string) => [string[], GdnOptions?]]>([
  ['--ipfs-gateway', (url) => [['--ipfs-gateway', url]]],
  ['GDN_IPFS_GATEWAY', (url) => [[], { env: { GDN_IPFS_GATEWAY: `${url}/` } }]],
])('local start with %s fetches and serves the image of nft mint', async (_, given) => {
  const [flags, options] = given(gateway.url)
  const { code, stdout, served } = await mintOn(flags, options)
  expect(code).toBe(0)
  const nft = JSON.parse(stdout)
  expect(nft).toMatchObject({ status: 'deployed' })
  expect(nft).not.toHaveProperty('files_not_stored')
  expect(served).toEqual({ status: 200, body: PNG })
})

test('without a gateway the image keeps its URL, and nft show marks it as not stored', async () => {
  const { code, stdout, served } = await mintOn([])
  expect(code).toBe(0)
  const { nft_gdn_id: id } = JSON.parse(stdout)
  expect(served.status).toBe(404)
  expect(gateway.asked).toEqual([])
  expect(await home.json(['nft', 'show', id, '--local'])).toMatchObject({
    request_metadata: { file_fields: [{ key: 'image', url: image }] },
    files_not_stored: ['image'],
  })
})

test('the NFT fails with --require-stored-files and no gateway', async () => {
  const { code, stderr } = await mintOn(['--require-stored-files'])
  expect(code).toBe(5)
  expect(stderr).toContain('is not stored here')
})

test('rejects an invalid URL in GDN_IPFS_GATEWAY', async () => {
  const { code, stderr } = await home.run(['local', 'start'], { env: { GDN_IPFS_GATEWAY: 'ftp://gateway.example' } })
  expect(code).toBe(2)
  expect(stderr).toContain('GDN_IPFS_GATEWAY: must be an http or https URL')
})
