import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { sleep } from '../../src/core/time.ts'
import { gdnAt } from './gdn-at.ts'
import { GDN_BIN } from './gdn-bin.ts'
import { writeKeystore, writePassword } from './keystore-file.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'
import { type PublicNetwork, startPublicNetwork } from './public-network.ts'

const BLOCK_MS = 200
const START_WITHIN_MS = 60_000
const END_WITHIN_MS = 60_000

/** One of the processes that share a database. It is restarted after a kill. */
export interface Member {
  /** Null before its start and after its end. */
  readonly url: string | null
  readonly pid: number
  kill(): Promise<void>
  start(): Promise<void>
  /** Stops it gracefully. */
  stop(): Promise<void>
  /** The stderr output of all its runs. */
  log(): string
}

export interface ProcessCluster {
  folder: string
  postgres: PostgresServer
  databaseUrl: string
  network: PublicNetwork
  /** Addresses of the signers. */
  operators: readonly string[]
  apiKey(): string
  member(kind: 'api' | 'worker', number: number, flags?: readonly string[]): Member
  close(): Promise<void>
}

/** A PostgreSQL server, a public network set up for two signers, and processes of the built gdn that share both. */
export async function startCluster(
  options: { rpcUrl?: (network: PublicNetwork) => Promise<string> } = {},
): Promise<ProcessCluster> {
  const folder = await mkdtemp(join(tmpdir(), 'gdn-cluster-'))
  const [postgres, network] = await Promise.all([startPostgres(), startPublicNetwork(['--gas-limit', '1000000000'])])
  await postgres.execute('create database gdn')
  const databaseUrl = postgres.url('gdn')
  const stopMining = network.mineEvery(BLOCK_MS)
  const keys = [generatePrivateKey(), generatePrivateKey()]
  const admin = generatePrivateKey()
  const addressOf = (key: `0x${string}`) => privateKeyToAccount(key).address
  for (const key of [...keys, admin]) await network.call('anvil_setBalance', [addressOf(key), '0x3635c9adc5dea00000'])
  for (const [index, key] of keys.entries()) await writeKeystore(join(folder, `op${index}.json`), key)
  await writeKeystore(join(folder, 'admin.json'), admin)
  await writePassword(join(folder, 'password'))
  const settings = async (name: string, url: string, password = 'password') => {
    const text = `chains:
  polygon:
    rpc_urls: ['${url}']
    confirmations: 2
    finality: 3
    poll_seconds: 0.2
    stuck_seconds: 5
    operators:
${keys.map((_, index) => `      - { keystore: op${index}.json, password_file: ${password} }`).join('\n')}
`
    await writeFile(join(folder, name), text, { mode: 0o600 })
  }
  await settings('setup.yaml', network.url)
  const rpcUrl = (await options.rpcUrl?.(network)) ?? network.url
  await settings('backend.yaml', rpcUrl)
  // API processes sign nothing and need no password.
  await settings('api.yaml', rpcUrl, 'nowhere')
  const setup = ['chain', 'setup', 'polygon', '--yes', '--config', join(folder, 'setup.yaml')]
  const place = ['--data-dir', join(folder, 'setup'), '--database-url', databaseUrl]
  const secrets = ['--admin-keystore', join(folder, 'admin.json'), '--password-file', join(folder, 'password')]
  await gdnAt({ url: 'http://127.0.0.1:1', apiKey: '' }, folder).json(...setup, ...place, ...secrets)

  const running = new Set<ChildProcess>()
  let apiKey = ''
  const member = (kind: 'api' | 'worker', number: number, flags: readonly string[] = []): Member => {
    const dataDir = join(folder, `${kind}${number}`)
    const role =
      kind === 'api'
        ? ['serve', '--role', 'api', '--port', '0', '--rate-limits', 'off']
        : ['worker', '--health-port', '0']
    const argv = [
      GDN_BIN,
      ...role,
      '--json',
      '--data-dir',
      dataDir,
      '--config',
      join(folder, kind === 'api' ? 'api.yaml' : 'backend.yaml'),
      ...flags,
    ]
    let child: ChildProcess | undefined
    let url: string | null = null
    let log = ''
    const begin = async (): Promise<boolean> => {
      await mkdir(dataDir, { recursive: true, mode: 0o700 })
      const env = { PATH: process.env.PATH, HOME: dataDir, GDN_DATABASE_URL: databaseUrl }
      const started = spawn(process.env.GDN_TEST_NODE ?? process.execPath, argv, {
        stdio: ['ignore', 'pipe', 'pipe'],
        env,
      })
      child = started
      running.add(started)
      started.stderr?.on('data', (text) => {
        log += text
      })
      const exited = once(started, 'exit').then(() => {
        running.delete(started)
        return null
      })
      const line = new Promise<string>((resolve) => {
        if (started.stdout !== null) createInterface(started.stdout).once('line', resolve)
      })
      const outcome = await Promise.race([line, exited, sleep(START_WITHIN_MS)])
      if (outcome === undefined) throw new Error(`${kind} ${number} neither starts nor ends: ${log}`)
      if (outcome === null) return false
      const ready = JSON.parse(outcome)
      if (ready.api_key !== undefined) apiKey = ready.api_key
      url = ready.url
      return true
    }
    const end = async (signal: NodeJS.Signals) => {
      const victim = child
      child = undefined
      if (victim !== undefined && running.has(victim)) {
        const exited = once(victim, 'exit')
        victim.kill(signal)
        const isGone = await Promise.race([exited.then(() => true), sleep(END_WITHIN_MS)])
        if (isGone !== true) throw new Error(`${kind} ${number} does not end: ${log}`)
      }
      url = null
    }
    return {
      get url() {
        return url
      },
      get pid() {
        return child?.pid ?? 0
      },
      log: () => log,
      kill: () => end('SIGKILL'),
      stop: () => end('SIGTERM'),
      async start() {
        // Retries while the database is down, as a service manager would.
        for (const late = Date.now() + START_WITHIN_MS; !(await begin()); await sleep(200)) {
          if (Date.now() > late) throw new Error(`${kind} ${number} doesn't start: ${log}`)
        }
      },
    }
  }

  return {
    ...{ folder, postgres, databaseUrl, network, member },
    operators: keys.map(addressOf),
    apiKey: () => apiKey,
    async close() {
      await stopMining()
      for (const child of running) child.kill('SIGKILL')
      await Promise.all([network.close(), postgres.close()])
      await rm(folder, { recursive: true, force: true })
    },
  }
}
