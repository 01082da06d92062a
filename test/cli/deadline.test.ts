/** @module-tag slow */
import { describe, expect, test, vi } from 'vitest'
import { commandSignals } from '../../src/cli/io/deadline.ts'
import { GdnError } from '../../src/core/errors.ts'
import { timeUpError } from '../../src/core/time-up.ts'
import { whenTestDone } from '../helpers/clean-up.ts'
import { type Reply, startHttpServer } from '../helpers/http-server.ts'
import { CONTRACT, DATE, nft, OWNER } from './fake-api.ts'
import { cli, errorOf, tempHome } from './harness.ts'

describe('the time of a command', () => {
  function command() {
    vi.useFakeTimers()
    whenTestDone(() => void vi.useRealTimers())
    const stop = new AbortController()
    const nothing = { again: stop.signal, own() {}, instead() {}, hangup() {}, release() {} }
    return { stop, signals: commandSignals({ signal: stop.signal, ...nothing }) }
  }

  test('aborts its signal at --timeout', async () => {
    const { signals } = command()
    signals.endAfter(5000)
    vi.advanceTimersByTime(4999)
    expect(signals.signal.aborted).toBe(false)
    vi.advanceTimersByTime(1)
    expect(signals.signal.reason).toMatchObject({ code: 'timed_out', message: 'the --timeout of 5 s expired' })
  })

  test('does not pass while a person is prompted', async () => {
    const { signals } = command()
    signals.endAfter(5000)
    vi.advanceTimersByTime(2000)
    await signals.prompting(async () => vi.advanceTimersByTime(600_000))
    vi.advanceTimersByTime(2999)
    expect(signals.signal.aborted).toBe(false)
    vi.advanceTimersByTime(1)
    expect(signals.signal.aborted).toBe(true)
  })

  test('has listeners for all that runs at once, which Node.js would report as a leak', () => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    whenTestDone(() => warned.mockRestore())
    const { signals } = command()
    for (let n = 0; n < 40; n++) signals.signal.addEventListener('abort', () => {})
    expect(warned).not.toHaveBeenCalled()
    for (let n = 0; n < 40; n++) signals.signal.addEventListener('abort', () => {})
    expect(warned).toHaveBeenCalledOnce()
  })

  test('shows no prompt after Ctrl-C', async () => {
    const { stop, signals } = command()
    const prompt = vi.fn(async () => {})
    stop.abort(new GdnError('interrupted', 'interrupted'))
    await expect(signals.prompting(prompt)).rejects.toMatchObject({ code: 'interrupted' })
    expect(prompt).not.toHaveBeenCalled()
  })

  test('ends an open prompt at a signal', async () => {
    const { stop, signals } = command()
    const prompt = (signal: AbortSignal) =>
      new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    const answer = signals.prompting(prompt)
    stop.abort(new GdnError('terminated', 'terminated'))
    await expect(answer).rejects.toMatchObject({ code: 'terminated' })
  })

  test('leaves Ctrl-C as it is, and ends with the command', () => {
    const { stop, signals } = command()
    signals.endAfter(5000)
    signals.done()
    vi.advanceTimersByTime(5000)
    expect(signals.signal.aborted).toBe(false)
    const other = command()
    const interrupted = new GdnError('interrupted', 'interrupted')
    other.stop.abort(interrupted)
    expect(other.signals.signal.reason).toBe(interrupted)
    stop.abort()
  })
})

describe('--timeout', () => {
  const ACCEPTED = {
    message: 'accepted',
    requests: { contract_address: CONTRACT, blockchain: 'polygon', receiver_wallet_address: OWNER, metadata: [] },
    nfts: [{ nft_gdn_ids: 'id-1', accepted_date: DATE }],
  }
  const YES = { 'idempotency-supported': 'yes', 'blockchains-without-value': '*' }

  /**
   * A server that does not respond to a path: then the time of the command is over. It counts the mints by their keys.
   */
  async function server(silent: { path: string }) {
    const keys: unknown[] = []
    const over = new AbortController()
    const httpServer = await startHttpServer(({ path, headers }): Reply | Promise<never> => {
      const isMint = path.endsWith('createnft')
      if (isMint) keys.push(headers['idempotency-key'])
      if (path.endsWith(silent.path)) {
        over.abort(timeUpError(2000))
        return new Promise(() => {})
      }
      if (isMint) return { headers: YES, json: ACCEPTED }
      if (path.endsWith('getnfts')) {
        return { headers: YES, json: { requests: { nft_gdn_ids: ['id-1'] }, nfts: [nft('id-1')] } }
      }
      return { status: 422, headers: YES, json: { error: { title: 'No', message: 'no' } } }
    })
    whenTestDone(() => httpServer.close())
    return { url: httpServer.url, keys, signal: over.signal }
  }

  const MINT = [
    'nft',
    'mint',
    '-c',
    CONTRACT,
    '-b',
    'polygon',
    '--receiver',
    OWNER,
    '--title',
    'Dawn',
    '--yes',
    '--json',
  ]

  async function machine() {
    const { env } = await tempHome()
    return { env: { ...env, GDN_API_KEY: 'key' } }
  }

  test('ends a command that waits for a silent server', async () => {
    const { url } = await server({ path: '' })
    const result = await cli(['nft', 'wait', 'id-1', '--timeout', '1s', '--json', '--base-url', url], await machine())
    expect([result.code, errorOf(result).code]).toEqual([6, 'timed_out'])
  })

  test('names a server that accepts a request and does not respond', async () => {
    const { url, signal } = await server({ path: 'getnfts' })
    const result = await cli(['nft', 'wait', 'id-1', '--json', '--base-url', url], { ...(await machine()), signal })
    expect(errorOf(result)).toMatchObject({
      code: 'timed_out',
      message: `the --timeout of 2 s expired before ${url} responded`,
      hint: expect.stringContaining('`gdn doctor`'),
    })
  })

  test('ends before anything is sent with 6, and says so', async () => {
    const { url, keys, signal } = await server({ path: 'getisgdnnft' })
    const result = await cli([...MINT, '--base-url', url], { ...(await machine()), signal })
    expect([result.code, keys]).toEqual([6, []])
    expect(errorOf(result)).toMatchObject({
      code: 'timed_out',
      message: 'the --timeout of 2 s expired, and the request was not sent',
    })
  })

  test('keeps the record of a request without a response, so that the same command mints nothing twice', {
    tags: ['promise'],
  }, async () => {
    const silent = { path: 'createnft' }
    const { url, keys, signal } = await server(silent)
    const options = await machine()
    const first = await cli([...MINT, '--base-url', url], { ...options, signal })
    expect(first.code).toBe(9)
    expect(errorOf(first)).toMatchObject({
      code: 'unknown_outcome',
      message: expect.stringContaining('the --timeout of 2 s expired before the response was complete'),
    })
    silent.path = 'nothing'
    const second = await cli([...MINT, '--base-url', url], options)
    expect([second.code, JSON.parse(second.stdout).status]).toEqual([0, 'deployed'])
    expect(keys).toHaveLength(2)
    expect(new Set(keys).size).toBe(1)
  })

  test('ends with 8 while the server returns no status of an accepted NFT', async () => {
    const { url, signal } = await server({ path: 'getnfts' })
    const result = await cli([...MINT, '--base-url', url], { ...(await machine()), signal })
    expect([result.code, JSON.parse(result.stdout).nft_gdn_id]).toEqual([8, 'id-1'])
    expect(errorOf(result)).toMatchObject({
      code: 'pending',
      message: '1 NFT is still pending after 300 s: the server does not respond',
      hint: expect.stringContaining('gdn nft wait id-1'),
    })
  })
})
