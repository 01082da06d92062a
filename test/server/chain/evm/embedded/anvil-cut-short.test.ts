import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { spawnAnvil } from '../../../../../src/server/chain/evm/embedded/anvil-process.ts'

it('terminates a node that never listens as soon as its chain is closed', async () => {
  const home = await mkdtemp(join(tmpdir(), 'gdn-anvil-'))
  try {
    const binary = join(home, 'anvil')
    await writeFile(binary, '#!/bin/sh\nexec sleep 60\n')
    await chmod(binary, 0o755)
    const closing = new AbortController()
    let started = 0
    const onSpawn = (pid: number) => {
      started = pid
      closing.abort()
    }
    const options = { binary, chainId: 1, upstreamUrl: 'http://127.0.0.1:1', home, marker: 'm', onSpawn }
    await expect(spawnAnvil({ ...options, signal: closing.signal })).rejects.toThrow('SIGKILL')
    expect(() => process.kill(started, 0)).toThrow('ESRCH')
  } finally {
    await rm(home, { recursive: true, force: true })
  }
})
