// js-ipfs with the RPC API that it shares with Kubo, isolated on this machine. Run it in the folder of its
// installation.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

// It needs a newer Node.js than our oldest one.
Promise.withResolvers ??= function withResolvers() {
  let resolve
  let reject
  const promise = new Promise((fulfil, refuse) => {
    resolve = fulfil
    reject = refuse
  })
  return { promise, resolve, reject }
}

const installed = (path) => import(pathToFileURL(join(process.cwd(), 'node_modules', path)).href)
const { create } = await installed('ipfs-core/src/index.js')
const { HttpApi } = await installed('ipfs-http-server/src/index.js')
const ipfs = await create({
  repo: join(process.cwd(), 'repo'),
  silent: true,
  offline: true,
  init: { algorithm: 'Ed25519', emptyRepo: true },
  config: {
    Addresses: { Swarm: [], API: '/ip4/127.0.0.1/tcp/0', RPC: '/ip4/127.0.0.1/tcp/0', Gateway: '' },
    Bootstrap: [],
    Discovery: { MDNS: { Enabled: false } },
  },
})
const api = new HttpApi(ipfs)
await api.start()
process.stdout.write(`${api._apiServers[0].info.uri}\n`)
