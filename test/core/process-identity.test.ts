import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, it, vi } from 'vitest'
import { findProcess, isAlive, isStopped, ownIdentity } from '../../src/core/process-identity.ts'

it.skipIf(process.platform === 'win32')('reports one start time, synchronously and asynchronously', async () => {
  const identity = await ownIdentity()
  expect(findProcess(process.pid)?.startedAt).toBe(identity.startedAt)
  expect(await isAlive(identity)).toBe(true)
})

it('finds a process by its command line, and none once it has ended', async () => {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)', 'a-marker'])
  await once(child, 'spawn')
  const pid = child.pid ?? 0
  expect(findProcess(pid)?.command).toContain('a-marker')
  if (process.platform !== 'win32') {
    expect(isStopped(pid)).toBe(false)
    child.kill('SIGSTOP')
    await vi.waitFor(() => expect(isStopped(pid)).toBe(true))
  }
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(findProcess(pid)).toBeNull()
  expect(isStopped(pid)).toBe(false)
})
