/** @module-tag slow */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { freshDataDir, until, WALLETS } from '../helpers/backend.ts'
import { whenTestDone } from '../helpers/clean-up.ts'
import { gdnAt } from '../helpers/gdn-at.ts'
import { pngNamed } from '../helpers/images.ts'
import { writePassword } from '../helpers/keystore-file.ts'
import { serve } from '../helpers/served-backend.ts'

const [, BOB] = WALLETS

/** A row of a spreadsheet, and its ID once it has one. */
interface Row {
  id: string
  title: string
  receiver: string
  image: string
}

test('a spreadsheet without IDs is minted, edited, added to, pruned and frozen, as its messages say', {
  timeout: 600_000,
}, async () => {
  const [dataDir, home] = [await freshDataDir(), await freshDataDir()]
  whenTestDone(dataDir.remove)
  whenTestDone(home.remove)
  const backend = await serve(dataDir.path, ['--rate-limits', 'off']).ready
  whenTestDone(() => backend.end('SIGTERM'))
  const gdn = gdnAt(backend, home.path)
  const place = (name: string) => join(home.path, name)
  const manifest = place('drop.csv')
  const rows: Row[] = []
  const add = (n: number) => rows.push({ id: '', title: `Hour ${n}`, receiver: BOB, image: `${n % 3}.png` })
  const withoutIds = ['title', 'receiver', 'image'] as const
  const save = async (columns: readonly (keyof Row)[] = ['id', ...withoutIds]) => {
    const lines = rows.map((row) => `${columns.map((column) => row[column]).join(';')};x\r\n`)
    await gdn.file('drop.csv', `${columns.join(';')};description\r\n${lines.join('')}`)
  }
  for (let n = 0; n < 300; n++) add(n)
  // Line 151 of the spreadsheet is identical to line 150.
  rows[149] = { ...rows[148] } as Row
  await save(withoutIds)
  for (const n of [0, 1]) await writeFile(place(`${n}.png`), pngNamed(String(n)))
  await gdn.file('2.png', 'not an image')

  /** Runs a command in which something fails, and returns what it prints for people. */
  const fails = async (code: number, ...argv: string[]) => {
    const { exitCode, stderr } = await gdn.run(...argv)
    expect(exitCode, stderr).toBe(code)
    return stderr
  }
  const done = async (...argv: string[]) => {
    const { exitCode, stdout, stderr } = await gdn.run(...argv)
    expect(exitCode, stderr).toBe(0)
    return { stdout, stderr }
  }
  await writePassword(place('password'))
  const wallet = ['--wallet', '@owner', '--password-file', place('password')]
  await done('wallet', 'generate', '--offline', '--name', 'owner', '--password-file', place('password'))
  const { stdout: contract } = await done(
    ...['collection', 'create', '--name', 'Hours', '--wallet', '@owner', '--enable-transfer', '--dynamic'],
    ...['--enable-burn', '-o', 'ids'],
  )
  const target = [manifest, '-c', contract.trim()]
  const planned = async (...flags: string[]) =>
    (await gdn.json<{ action: string }[]>('plan', ...target, ...flags)).map(({ action }) => action)
  const times = (count: number, action: string) => Array<string>(count).fill(action)
  const applied = async (...flags: string[]) => {
    await done('apply', ...target, '--yes', ...flags)
    expect(await planned()).toEqual([])
  }

  expect(await fails(2, 'batch', 'mint', ...target)).toMatch(/drop\.csv:4\b.*2\.png/s)
  await writeFile(place('2.png'), pngNamed('2'))
  const refused = await fails(3, 'batch', 'mint', ...target)
  expect(refused).toContain("no row has an ID: rows without one can't be edited after they are minted")
  expect(refused).toContain(':151: is identical to line 150')
  await done('batch', 'mint', ...target, '--allow-duplicates')

  for (const [n, row] of rows.entries()) row.id = `hour-${n}`
  await save()
  expect((await done('plan', ...target)).stderr).toContain('300 unchanged')
  expect((await done('apply', ...target, '--yes')).stderr).toContain('Stored the IDs of 300 rows.')

  for (const row of rows.slice(10, 14)) row.title = `${row.title}, edited`
  await save()
  expect(await planned()).toEqual(times(4, 'update'))
  await applied()

  for (let n = 300; n < 305; n++) add(n)
  for (const [n, row] of rows.entries()) row.id = `hour-${n}`
  await save()
  expect(await planned()).toEqual(times(5, 'mint'))
  await applied()

  rows.pop()
  await save()
  const saved = place('plan.json')
  expect(await planned('--prune', '--out', saved)).toEqual(times(1, 'burn'))
  await done('apply', saved, '--yes', '--max-burns', '1')
  expect(await planned()).toEqual([])
  const nfts = await gdn.json<{ burned: boolean }[]>('nft', 'list', '-c', contract.trim())
  expect([nfts.length, nfts.filter(({ burned }) => burned).length]).toEqual([305, 1])

  await done('collection', 'set', contract.trim(), '--freeze', '--yes', ...wallet)
  for (const row of rows.slice(0, 2)) row.title = `${row.title}, too late`
  await save()
  await until(planned, (changes) => String(changes) === 'impossible,impossible')
})
