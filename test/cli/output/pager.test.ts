/** @module-tag slow */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { createIo } from '../../../src/cli/io/io.ts'
import { fakeApi, knows, nft } from '../fake-api.ts'
import { cli, tempHome } from '../harness.ts'

const IDS = Array.from({ length: 30 }, (_, i) => `id-${i}`)

/** Shows NFTs on a terminal of 24 rows. The pager writes what it reads, and its environment, to files. */
async function show(env: NodeJS.ProcessEnv, { ids = IDS, more = [] as string[], tty = true } = {}) {
  const { dir, env: home } = await tempHome()
  const api = await fakeApi({ getnfts: knows(...ids.map((id) => nft(id))) })
  const { code, stdout } = await cli(['nft', 'show', ...ids, ...more, '--base-url', api.url], {
    env: { PATH: process.env.PATH, ...home, GDN_API_KEY: 'key', XDG_FILES: dir, ...env },
    tty,
    columns: 120,
  })
  const read = (name: string) => readFile(join(dir, name), 'utf8').catch(() => null)
  return { code, stdout, paged: await read('paged'), variables: (await read('variables'))?.split('\n') }
}

const PAGER = 'env >"$XDG_FILES/variables"; cat >"$XDG_FILES/paged"'
const FIRST = /^TOKEN .*\n1 .* id-0\n/

test('shows a table that is longer than the terminal in the pager', async () => {
  const { code, stdout, paged } = await show({ PAGER })
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
  expect(paged).toMatch(FIRST)
  expect(paged?.trimEnd().split('\n')).toHaveLength(31)
})

test('GDN_PAGER overrides PAGER', async () => {
  expect((await show({ GDN_PAGER: PAGER, PAGER: 'false' })).paged).toMatch(FIRST)
})

test('the pager gets options for less and colors, unless the user set them, and no secrets', async () => {
  const { variables } = await show({ PAGER, TOKEN_OF_CI: 'secret' })
  expect(variables).toEqual(expect.arrayContaining(['LESS=FRX', 'LV=-c']))
  expect(variables?.join()).not.toMatch(/GDN_API_KEY|TOKEN_OF_CI/)
  expect((await show({ PAGER, LESS: 'S' })).variables).toContain('LESS=S')
})

test.each<[string, NodeJS.ProcessEnv, Parameters<typeof show>[1]]>([
  ['a table that fits', {}, { ids: IDS.slice(0, 20) }],
  ['a pipe', {}, { tty: false }],
  ['JSON', {}, { more: ['--json'] }],
  ['NDJSON', {}, { more: ['-o', 'ndjson'] }],
  ['CSV', {}, { more: ['-o', 'csv'] }],
  ['IDs', {}, { more: ['-o', 'ids'] }],
  ['NO_PAGER', { NO_PAGER: '1' }, {}],
  ['GDN_PAGER=cat', { GDN_PAGER: 'cat' }, {}],
  ['CI', { CI: 'true' }, {}],
  ['TERM=dumb', { TERM: 'dumb' }, {}],
  ['--no-input', {}, { more: ['--no-input'] }],
  ['neither variable', { PAGER: '' }, {}],
])('no pager starts for %s', async (_, env, how) => {
  const { code, stdout, paged } = await show({ PAGER, ...env }, how)
  expect({ code, paged }).toEqual({ code: 0, paged: null })
  expect(stdout).toContain('id-19')
})

test.each([
  ['does not exist', 'no-such-pager 2>&-'],
  ['fails', 'false'],
])('prints the table if the pager %s', async (_, pager) => {
  const { code, stdout } = await show({ PAGER: pager })
  expect(code).toBe(0)
  expect(stdout).toMatch(FIRST)
})

test('a pager that the user leaves early causes no error', async () => {
  // More than a pipe holds, so that the rest can't be written.
  const ids = Array.from({ length: 2000 }, (_, i) => `id-${i}`)
  expect(await show({ PAGER: 'true' }, { ids })).toMatchObject({ code: 0, stdout: '' })
})

test('text for a pipe is never paged, however long it is', async () => {
  const stdout = new PassThrough()
  const settings = { machine: false, quiet: false, debug: false, input: true, noColor: false }
  const io = await createIo({ env: { PAGER: 'true' }, stdin: new PassThrough(), stdout, stderr: stdout }, settings)
  await io.page('line\n'.repeat(100))
  expect(String(stdout.read())).toBe('line\n'.repeat(100))
})
