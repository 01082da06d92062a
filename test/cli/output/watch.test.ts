/** @module-tag slow */
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { createIo } from '../../../src/cli/io/io.ts'
import { GdnError } from '../../../src/core/errors.ts'
import { thisProcess } from '../../../src/core/lock-holder.ts'
import { openState } from '../../../src/state/open-state.ts'
import { CSV, folder, service, TARGET } from '../batch/drop.ts'
import { fakeApi, nft } from '../fake-api.ts'
import { cli } from '../harness.ts'

const env = { GDN_API_KEY: 'k' }

/** A server whose NFT has these states, one after the other. */
async function changing(...states: object[]) {
  let requestCount = 0
  return await fakeApi({
    getnfts: () => ({
      body: {
        requests: { nft_gdn_ids: ['one'] },
        nfts: [{ ...nft('one'), ...states[Math.min(requestCount++, states.length - 1)] }],
      },
    }),
  })
}

const INITIATED = { status: 'initiated', token_id: null }

test.each([[['--json']], [['-o', 'ndjson']]])('prints a line of JSON at each change with %s', async (flags) => {
  const { url, calls } = await changing(INITIATED, INITIATED, { status: 'deployed', token_id: '7' })
  const { code, stdout, stderr } = await cli(['nft', 'show', 'one', '--watch', '--base-url', url, ...flags], { env })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const lines = stdout.trim().split('\n')
  expect(lines.map((line) => JSON.parse(line).status)).toEqual(['initiated', 'deployed'])
  expect(calls.filter(({ path }) => path.endsWith('getnfts')).length).toBeGreaterThanOrEqual(3)
})

test.each(['failed', 'error'])('ends if the status is %s', async (status) => {
  const { url } = await changing(INITIATED, { ...INITIATED, status }, { ...INITIATED, status: 'watched too long' })
  const { code, stdout } = await cli(['nft', 'show', 'one', '--watch', '--json', '--base-url', url], { env })
  expect({ code, last: JSON.parse(stdout.trim().split('\n').at(-1) ?? '').status }).toEqual({ code: 0, last: status })
})

test('waits for a change that is in progress', async () => {
  const pending = { status: 'deployed', pending_change: { kind: 'transfer', transaction_gdn_id: 't' } }
  const { url } = await changing(pending, { status: 'deployed' })
  const { stdout } = await cli(['nft', 'show', 'one', '--watch', '--base-url', url], { env })
  expect(stdout.trim().split('\n')).toHaveLength(2)
})

test('redraws in place on a terminal, and leaves what status prints', async () => {
  const { url } = await changing(INITIATED, { status: 'deployed' })
  const at = ['--base-url', url, '--no-image']
  const terminal = { env, tty: true, stderrTty: true }
  const watched = await cli(['nft', 'show', 'one', '--watch', ...at], terminal)
  const showResult = await cli(['nft', 'show', 'one', ...at], terminal)
  expect(watched).toMatchObject({ code: 0, stdout: showResult.stdout })
  expect(watched.stderr).toContain('initiated')
  expect(watched.stderr).toContain('\u001b[J')
})

test.each([[false], [true]])('ends with code 0 at Ctrl-C (terminal: %s)', async (tty) => {
  const stop = new AbortController()
  let requestCount = 0
  const { url } = await fakeApi({
    getnfts: () => {
      if (++requestCount === 2) stop.abort(new GdnError('interrupted', 'interrupted'))
      return { body: { requests: { nft_gdn_ids: ['one'] }, nfts: [{ ...nft('one'), ...INITIATED }] } }
    },
  })
  const options = { env, tty, stderrTty: tty, signal: stop.signal }
  const { code, stdout } = await cli(['nft', 'show', 'one', '--watch', '--no-image', '--base-url', url], options)
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('initiated') })
})

test.each([[false], [true]])('exits with 5 if the server does not know an ID (terminal: %s)', async (tty) => {
  const { url } = await changing({ status: 'deployed' })
  const argv = ['nft', 'show', 'one', 'two', '--watch', '--base-url', url]
  const { code, stderr } = await cli(argv, { env, tty, stderrTty: tty })
  expect({ code, stderr }).toEqual({ code: 5, stderr: expect.stringContaining('the server has no NFT two') })
})

test('formats for the width that the terminal has now', async () => {
  const stdout = { isTTY: true, columns: 80, write: () => true }
  const settings = { machine: false, quiet: false, debug: false, input: true, noColor: false }
  const io = await createIo({ env: {}, stdin: new PassThrough(), stdout, stderr: stdout }, settings)
  expect(io.columns).toBe(80)
  stdout.columns = 50
  expect(io.columns).toBe(50)
})

test('refuses CSV', async () => {
  const { url } = await fakeApi({})
  const { code, stderr } = await cli(['nft', 'show', 'one', '--watch', '-o', 'csv', '--base-url', url], { env })
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('--watch') })
})

test('watches a run while a process has it, and says how to resume it', async () => {
  const { path, options } = await folder({ 'drop.csv': CSV })
  const api = await fakeApi({ createnft: service().createnft })
  const stateDir = path('state')
  await cli(
    ['batch', 'mint', path('drop.csv'), ...TARGET, '--state-dir', stateDir, '--base-url', api.url, '--no-wait'],
    options,
  )
  const change = async (statement: string, ...values: (string | null)[]) => {
    const state = await openState(stateDir)
    await state.write((sql) => sql.run(statement, ...values))
    state.close()
  }
  const setHolder = (holder: string | null) => change('UPDATE runs SET holder = ?', holder)
  await setHolder(JSON.stringify(await thisProcess('a batch')))
  let look = () => {}
  const looked = new Promise<void>((resolve) => {
    look = resolve
  })
  const watching = cli(['batch', 'status', 'drop', '--watch', '--state-dir', stateDir, '--json'], {
    ...options,
    onStdout: () => look(),
  })
  await looked
  await setHolder(null)
  const { code, stdout } = await watching
  expect(code).toBe(0)
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines).toMatchObject([{ running: true }, { running: false, state: 'unfinished', accepted: 2 }])
  const terminal = { ...options, tty: true, stderrTty: true }
  const status = () => cli(['batch', 'status', 'drop', '--watch', '--state-dir', stateDir], terminal)
  expect((await status()).stderr).toMatch(/To resume the run:\sgdn batch resume drop-[0-9a-f]{4} --state-dir /)
  await change("UPDATE operations SET state = 'planned'")
  await change("UPDATE drops SET reading = json_set(reading, '$.provenance', '0x1')")
  expect((await status()).stderr).toMatch(
    /To resume the run:\sgdn batch mint \S+\/drop\.csv --contract 0x\w+ --blockchain \w+ --unrevealed <file> --base-url \S+ --state-dir /,
  )
})
