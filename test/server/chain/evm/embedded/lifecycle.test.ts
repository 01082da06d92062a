/** @module-tag slow */
import { type ChildProcess, spawn } from 'node:child_process'
import { copyFileSync, existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Hex } from 'viem'
import { describe, expect, test } from 'vitest'
import { findAnvil } from '../../../../../src/server/chain/evm/embedded/anvil-binary.ts'
import { spawnAnvil } from '../../../../../src/server/chain/evm/embedded/anvil-process.ts'
import { resolveNodeFiles, writePidfile } from '../../../../../src/server/chain/evm/embedded/pidfile.ts'
import { startUpstreamStub } from '../../../../../src/server/chain/evm/embedded/upstream-stub.ts'
import { until } from '../../../../helpers/backend.ts'
import { GENESIS_TIMESTAMP, memoryBlockJournal } from '../../../../helpers/memory-block-journal.ts'
import { stopProcess } from '../../../../helpers/processes.ts'
import { seededRandom } from '../../../../helpers/seed.ts'
import {
  CHAIN_ID,
  isRunning,
  killNode,
  newAccount,
  pidfileOf,
  recordedPid,
  sign,
  start,
  temporaryDir,
  whenDone,
} from './fixture.ts'

/** A node as a killed backend leaves it: running, recorded in the pidfile, and without a parent. */
async function leaveOrphan(stateDir: string) {
  const stub = await startUpstreamStub({ chainId: CHAIN_ID, timestamp: GENESIS_TIMESTAMP })
  whenDone(() => stub.close())
  const orphan = await spawnAnvil({
    binary: findAnvil(),
    chainId: CHAIN_ID,
    upstreamUrl: stub.url,
    ...resolveNodeFiles(stateDir, 'polygon'),
    onSpawn: (pid) => writePidfile(pidfileOf(stateDir), pid),
  })
  whenDone(() => orphan.kill())
  return orphan
}

function bystander(...mentions: string[]): ChildProcess {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)', ...mentions])
  whenDone(() => child.kill('SIGKILL'))
  return child
}

describe('the node of a backend that was killed', () => {
  test('is terminated by the next start', async () => {
    const stateDir = temporaryDir()
    const orphan = await leaveOrphan(stateDir)
    const { chain, events } = await start({ stateDir })
    expect(events).toContainEqual({ type: 'orphan_ended', pid: orphan.pid })
    expect(await orphan.exited).toBe('was terminated by SIGKILL')
    expect(chain.pid).not.toBe(orphan.pid)
  })

  test('exits when the backend was killed before the node listened and was recorded', async () => {
    const stub = await startUpstreamStub({ chainId: CHAIN_ID, timestamp: GENESIS_TIMESTAMP })
    await stub.close()
    const { home, marker } = resolveNodeFiles(temporaryDir(), 'polygon')
    const node = { binary: findAnvil(), chainId: CHAIN_ID, upstreamUrl: stub.url, home, marker, onSpawn: () => {} }
    await expect(spawnAnvil(node)).rejects.toThrow('exited with code 1 before it started listening')
  })

  test('is terminated if its state directory is opened by another path', async () => {
    const stateDir = temporaryDir()
    const link = join(temporaryDir(), 'link')
    symlinkSync(stateDir, link)
    const orphan = await leaveOrphan(stateDir)
    await start({ stateDir: link })
    expect(await orphan.exited).toBe('was terminated by SIGKILL')
  })

  test('is not confused with another process that reuses its pid', async () => {
    const stateDir = temporaryDir()
    const stranger = bystander(resolveNodeFiles(stateDir, 'polygon').marker)
    writeFileSync(pidfileOf(stateDir), JSON.stringify({ pid: stranger.pid, startedAt: '1' }))
    const { events } = await start({ stateDir })
    expect(events.map(({ type }) => type)).not.toContain('orphan_ended')
    expect(isRunning(stranger.pid ?? 0)).toBe(true)
  })

  test('is not confused with another process of the same pid and start time', async () => {
    const stateDir = temporaryDir()
    const stranger = bystander()
    writePidfile(pidfileOf(stateDir), stranger.pid ?? 0)
    expect(existsSync(pidfileOf(stateDir))).toBe(true)
    await start({ stateDir })
    expect(isRunning(stranger.pid ?? 0)).toBe(true)
  })

  test('the node of another data dir is not terminated', async () => {
    const [mine, other] = [temporaryDir(), temporaryDir()]
    const { chain: theirs } = await start({ stateDir: other })
    // As in a copy of the whole data dir.
    copyFileSync(pidfileOf(other), pidfileOf(mine))
    const { events } = await start({ stateDir: mine })
    expect(events.map(({ type }) => type)).not.toContain('orphan_ended')
    expect(isRunning(theirs.pid ?? 0)).toBe(true)
  })

  test.each(['', '{', '{"pid":-1}', '{"pid":1}', '\0\0\0'])(
    'is ignored if the pidfile is damaged: %j',
    async (content) => {
      const stateDir = temporaryDir()
      writeFileSync(pidfileOf(stateDir), content)
      const { events } = await start({ stateDir })
      expect(events.map(({ type }) => type)).toEqual(['ready'])
    },
  )
})

describe('closing an embedded chain', () => {
  test('terminates its node, removes the pidfile, and rejects later requests', async () => {
    const stateDir = temporaryDir()
    const { chain } = await start({ stateDir })
    const pid = chain.pid ?? 0
    expect(existsSync(pidfileOf(stateDir))).toBe(true)
    await Promise.all([chain.close(), chain.close()])
    expect(isRunning(pid)).toBe(false)
    expect(chain.pid).toBeUndefined()
    expect(existsSync(pidfileOf(stateDir))).toBe(false)
    await expect(chain.broadcast([await sign(newAccount(), 0)])).rejects.toMatchObject({ code: 'unreachable' })
    await expect(chain.request('eth_chainId', [])).rejects.toMatchObject({ code: 'unreachable' })
    await expect(chain.receipts([])).rejects.toMatchObject({ code: 'unreachable' })
  })

  test('terminates a hanging node', async () => {
    const { chain } = await start()
    const pid = chain.pid ?? 0
    await stopProcess(pid)
    const waiting = chain.broadcast([await sign(newAccount(), 0)])
    const rejected = expect(waiting).rejects.toMatchObject({ code: 'unreachable' })
    await chain.close()
    expect(isRunning(pid)).toBe(false)
    await rejected
  })

  test.each([
    'its node was killed',
    'it noticed the exit of its node',
    'its next node was spawned',
    'its next node replays the journal',
    'its next node is ready',
  ])('leaves no node if a restart has come to the point that %s', async (point) => {
    const stateDir = temporaryDir()
    const journal = memoryBlockJournal()
    const { chain, events } = await start({ stateDir, journal })
    const first = recordedPid(stateDir)
    let isReplaying = false
    const { blocks } = journal
    journal.blocks = () => {
      isReplaying = true
      return blocks()
    }
    const typesOfEvents = () => events.map(({ type }) => type).join()
    const points: Record<string, () => boolean> = {
      'its node was killed': () => true,
      'it noticed the exit of its node': () => typesOfEvents() === 'ready,died',
      'its next node was spawned': () => recordedPid(stateDir) !== first,
      'its next node replays the journal': () => isReplaying,
      'its next node is ready': () => typesOfEvents() === 'ready,died,ready',
    }
    killNode(chain)
    await until(() => points[point]?.(), Boolean, 30_000, 1)
    const recorded = recordedPid(stateDir)
    await chain.close()
    const pids = events.flatMap((event) => ('pid' in event ? [event.pid] : []))
    for (const pid of [...pids, recorded ?? first]) expect(isRunning(pid ?? 0)).toBe(false)
    expect(existsSync(pidfileOf(stateDir))).toBe(false)
  })

  test('leaves no node while a restart waits for a hanging journal', async () => {
    const stateDir = temporaryDir()
    const journal = memoryBlockJournal()
    const { chain } = await start({ stateDir, journal })
    journal.blocks = async function* () {
      await new Promise(() => {})
      yield* []
    }
    const first = recordedPid(stateDir)
    killNode(chain)
    const pid = await until(
      () => recordedPid(stateDir),
      (now) => now !== first,
    )
    await chain.close()
    expect(isRunning(pid ?? 0)).toBe(false)
  })

  test('resolves or rejects each pending broadcast, and the journal has every resolved one', async () => {
    const { random } = seededRandom('broadcasts at a close')
    const journal = memoryBlockJournal()
    const { chain } = await start({ journal })
    const account = newAccount()
    const raws = await Promise.all(Array.from({ length: 30 }, (_, nonce) => sign(account, nonce)))
    const unsent = raws
      .map((raw) => ({ raw, place: random() }))
      .sort((a, b) => a.place - b.place)
      .map(({ raw }) => raw)
    const sent: { raw: Hex; result: Promise<PromiseSettledResult<unknown>[]> }[] = []
    const broadcast = (count: number) => {
      for (const raw of unsent.splice(0, count))
        sent.push({ raw, result: Promise.allSettled([chain.broadcast([raw])]) })
    }
    const closeAt = 1 + Math.floor(random() * 4)
    const closing = new Promise<void>((resolve) => {
      journal.beforeAppend = (number) => {
        broadcast(1 + Math.floor(random() * 5))
        if (number === closeAt) resolve(chain.close())
      }
    })
    broadcast(5)
    await closing
    broadcast(unsent.length)
    const kept = journal.entries.flatMap(({ transactions }) => transactions)
    const statuses = new Set<string>()
    for (const { raw, result } of sent) {
      for (const { status, ...settled } of await result) {
        statuses.add(status)
        if (status === 'fulfilled') expect(kept).toContain(raw)
        else expect(settled).toMatchObject({ reason: { code: 'unreachable' } })
      }
    }
    expect(sent).toHaveLength(30)
    expect(statuses).toEqual(new Set(['fulfilled', 'rejected']))
  })
})

describe('a process that ends without closing its chains', () => {
  test('terminates the node', async () => {
    // Runs the handler that the exit of this process would run.
    const orphan = await leaveOrphan(temporaryDir())
    const handlers = process.listeners('exit').filter((handler) => handler.name === 'killLiving')
    expect(handlers).toHaveLength(1)
    for (const handler of handlers) handler.call(process, 0)
    expect(await orphan.exited).toBe('was terminated by SIGKILL')
  })
})

describe('the files of an embedded chain', () => {
  test("are all in its state directory, none in the user's home", async () => {
    const stateDir = temporaryDir()
    const settings = join(homedir(), '.foundry')
    const before = existsSync(settings)
    const { chain } = await start({ stateDir })
    const account = newAccount()
    for (let nonce = 0; nonce < 20; nonce++) await chain.broadcast([await sign(account, nonce)])
    await chain.close()
    expect(existsSync(settings)).toBe(before)
    expect(readdirSync(stateDir, { recursive: true })).toEqual(['polygon-home'])
  })

  test("are the only paths in the node's environment, which contains no proxy", async () => {
    const stateDir = temporaryDir()
    const binary = join(stateDir, 'anvil')
    writeFileSync(binary, '#!/bin/sh\nenv > environment\nexit 3\n', { mode: 0o755 })
    process.env.HTTP_PROXY = 'http://127.0.0.1:1'
    whenDone(() => delete process.env.HTTP_PROXY)
    await expect(start({ stateDir, binary })).rejects.toMatchObject({ code: 'unreachable' })
    const home = join(stateDir, 'polygon-home')
    const lines = readFileSync(join(home, 'environment'), 'utf8').trim().split('\n')
    const variables = new Map(lines.map((line) => [line.split('=')[0] ?? '', line.slice(line.indexOf('=') + 1)]))
    for (const name of ['HOME', 'XDG_CONFIG_HOME', 'XDG_CACHE_HOME', 'XDG_DATA_HOME', 'TMPDIR', 'PWD']) {
      expect([name, variables.get(name)]).toEqual([name, home])
    }
    expect([...variables.keys()].filter((name) => /proxy/i.test(name))).toEqual([])
  })
})
