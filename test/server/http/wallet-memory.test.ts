import { beforeAll, describe, expect, it } from 'vitest'
import { temporaryDataDir } from '../../helpers/backend.ts'
import { startedChild } from '../../helpers/backend-child.ts'
import { whenFileDone } from '../../helpers/clean-up.ts'
import { filesHolding, spellings } from '../../helpers/leaks.ts'
import { findInMemory } from '../../helpers/process-memory.ts'
import { report } from '../../helpers/seed.ts'

const WALLET_COUNT = 40

let dataDir: string
beforeAll(async () => {
  dataDir = await temporaryDataDir(whenFileDone)
})

describe.skipIf(process.platform !== 'linux')('the memory of a backend that has created wallets', () => {
  it('contains none of their private keys as text, hex, base64 or bytes, in either byte order', async () => {
    const backend = await startedChild(dataDir)
    const response = await fetch(`${backend.url}/api/v1/getpresignedurl`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': backend.apiKey },
      body: JSON.stringify({ email: 'artist@example.com' }),
    })
    const { url } = ((await response.json()) as { response: { url: string } }).response
    const make = async () => (await (await fetch(url, { method: 'POST' })).json()) as Made
    const wallets: Made['wallet'][] = []
    for (let i = 0; i < WALLET_COUNT / 20; i++) {
      for (const { wallet } of await Promise.all(Array.from({ length: 20 }, make))) wallets.push(wallet)
    }
    const needles = new Map<string, Buffer>()
    for (const [i, { private_key: key }] of wallets.entries()) {
      for (const [j, spelling] of spellings(key).entries()) needles.set(`key ${i}, spelling ${j}`, spelling)
      // Numbers are stored with the least significant byte first.
      needles.set(`key ${i}, bytes reversed`, Buffer.from(key.slice(2), 'hex').reverse())
    }
    // To prove the search, it must find the API key and at least one returned address.
    needles.set('API key', Buffer.from(backend.apiKey))
    for (const [i, { address }] of wallets.entries()) needles.set(`address ${i}`, Buffer.from(address))
    const found = await findInMemory(backend.pid, needles)
    const names = [...found.keys()]
    const addresses = names.filter((name) => name.startsWith('address')).length
    const keys = names.filter((name) => name.startsWith('key'))
    report({ 'wallets made': WALLET_COUNT, 'addresses found in memory': addresses, 'private keys found': keys.length })
    expect(names).toContain('API key')
    expect(addresses).toBeGreaterThan(0)
    expect(keys).toEqual([])
    for (const { private_key: key } of wallets.slice(0, 5)) expect(await filesHolding(dataDir, key)).toEqual([])
    await backend.kill('SIGTERM')
  })
})

interface Made {
  wallet: { address: string; private_key: string }
}
