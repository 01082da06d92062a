import { join } from 'node:path'
import { GdnError, messageOf } from '../../src/core/errors.ts'
import { startBackend } from '../../src/server/main.ts'
import { faultyNetwork } from './faulty-network.ts'
import { seededFrom } from './seed.ts'

/** Runs a backend in a separate process, for tests that need one. Prints the outcome as one line of JSON. */
const [dataDir = '', port = '0', faults = '0', seed = '0', uid = ''] = process.argv.slice(2)
const random = seededFrom(Number(seed))

const tell = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`)

const start = (folder: string) =>
  startBackend({
    host: '127.0.0.1',
    port: Number(port),
    dataDir: folder,
    allowPrivateFiles: true,
    rateLimits: false,
    allowedHosts: [],
    version: '0.0.0-test',
    logLevel: 'warn',
    wrapNetwork: (network) => faultyNetwork(network, { random, share: Number(faults) }),
    logStream: { write: (line) => void process.stderr.write(line) },
  })

try {
  if (uid !== '') {
    // A first start loads the code, which the other user may be unable to read, such as below the home of root.
    await (await start(join(dataDir, 'first'))).close()
    process.setuid?.(Number(uid))
  }
  const backend = await start(dataDir)
  tell({ url: backend.url, apiKey: backend.apiKey.reveal() })
  process.once('SIGTERM', () => void backend.close().then(() => process.exit(0)))
} catch (error) {
  const { code, hint } = error instanceof GdnError ? error : { code: 'no GdnError', hint: undefined }
  tell({ error: { code, message: messageOf(error), hint } })
  process.exitCode = 1
}
