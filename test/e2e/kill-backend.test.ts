import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { freshDataDir } from '../helpers/backend.ts'
import { killDrop } from '../helpers/kill-drop.ts'
import { expectNoProcesses, processesWith } from '../helpers/processes.ts'
import { report, seededRandom } from '../helpers/seed.ts'
import { type ServedBackend, serve } from '../helpers/served-backend.ts'

const KILLED_BEFORE_KILL = fileURLToPath(new URL('../helpers/killed-before-kill.cjs', import.meta.url))
const WALLET = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'

const createCollection = ({ url, apiKey }: ServedBackend) =>
  fetch(`${url}/api/v1/createcollection`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': apiKey },
    body: JSON.stringify({ wallet_address: WALLET, name: 'One', blockchain: 'polygon' }),
  })

it('a drop of 200 NFTs survives 30 SIGKILLs of the backend: each token exists once, all deployed, state replayed', async () => {
  const { random } = seededRandom('kill-backend')
  report(await killDrop({ nfts: 200, kills: 30, random }))
  // 31 starts of a backend, of which a busy machine takes 6 s for each.
}, 600_000)

it('the next start stops the node of a killed backend, even if it is killed once itself', async () => {
  const dataDir = await freshDataDir()
  const { path } = dataDir
  const first = await serve(path).ready
  expect((await createCollection(first)).status).toBe(200)
  // The backend and its node, which is recorded before it responds.
  const chain = { method: 'eth_chainId', params: [], id: 1, jsonrpc: '2.0' }
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(chain) }
  expect((await fetch(`${first.url}/rpc/polygon`, init)).status).toBe(200)
  await first.end('SIGKILL')
  const [node] = processesWith(path)
  expect(node).toBeDefined()

  const killed = serve(path, [], { NODE_OPTIONS: `--require ${KILLED_BEFORE_KILL}` })
  await expect(killed.ready).rejects.toThrow('serve ended with null')
  expect(processesWith(path)).toContain(node)
  const next = await serve(path).ready
  expect(processesWith(path)).not.toContain(node)
  expect(await next.end('SIGTERM')).toBe(0)
  await expectNoProcesses(path)
  await dataDir.remove()
})
