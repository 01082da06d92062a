import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa, type Options, type ResultPromise } from 'execa'
import { GDN_BIN } from './gdn-bin.ts'

const DIST = fileURLToPath(new URL('../../dist/main.cjs', import.meta.url))

/** The Node that runs gdn: GDN_TEST_NODE for tests on other versions, otherwise that of the tests. */
const NODE = process.env.GDN_TEST_NODE || process.execPath

export interface GdnResult {
  code: number
  stdout: string
  stderr: string
}

/** A separate home directory for the built gdn, isolated from the machine's configuration and removed afterwards. */
export interface GdnHome {
  dir: string
  env: NodeJS.ProcessEnv
  /** Runs gdn to its end. */
  run(args: readonly string[], options?: GdnOptions): Promise<GdnResult>
  /** Starts gdn. The caller stops it. */
  start(args: readonly string[], options?: GdnOptions): ResultPromise
  /** Runs gdn with --json, expects exit code 0, and returns the parsed output. */
  json<Value = unknown>(args: readonly string[], options?: GdnOptions): Promise<Value>
  remove(): Promise<void>
}

export interface GdnOptions {
  env?: Record<string, string | undefined>
  cwd?: string
  input?: string
}

/** Creates an empty home directory, and returns functions that run the built gdn in it. */
export async function makeHome(): Promise<GdnHome> {
  if (!existsSync(DIST)) throw new Error('gdn is not built: npm run build')
  const dir = await mkdtemp(join(tmpdir(), 'gdn-home-'))
  const env: NodeJS.ProcessEnv = {
    PATH: process.env.PATH,
    HOME: dir,
    XDG_CONFIG_HOME: join(dir, 'config'),
    XDG_DATA_HOME: join(dir, 'data'),
    XDG_STATE_HOME: join(dir, 'state'),
    GDN_PACE_DIR: join(dir, 'pace'),
    // Avoids the keyring of the person who runs the tests.
    GDN_KEYRING: 'off',
    TMPDIR: process.env.TMPDIR,
  }
  const options = (moreOptions: GdnOptions): Options => ({
    cwd: moreOptions.cwd ?? dir,
    env: { ...env, ...moreOptions.env },
    extendEnv: false,
    reject: false,
    stripFinalNewline: false,
    // Otherwise SIGKILL follows SIGTERM after 5 s, which a busy machine may need.
    forceKillAfterDelay: false,
    ...(moreOptions.input === undefined ? { stdin: 'ignore' } : { input: moreOptions.input }),
  })
  const start: GdnHome['start'] = (args, moreOptions = {}) => execa(NODE, [GDN_BIN, ...args], options(moreOptions))
  const run: GdnHome['run'] = async (args, moreOptions = {}) => {
    const { exitCode, stdout, stderr, signal } = await start(args, moreOptions)
    return { code: exitCode ?? (signal === undefined ? -1 : -2), stdout: String(stdout), stderr: String(stderr) }
  }
  return {
    dir,
    env,
    start,
    run,
    async json(args, moreOptions) {
      const { code, stdout, stderr } = await run([...args, '--json'], moreOptions)
      if (code !== 0) throw new Error(`gdn ${args.join(' ')} ended with ${code}: ${stderr}`)
      return JSON.parse(stdout)
    },
    remove: () => rm(dir, { recursive: true, force: true, maxRetries: 3 }),
  }
}
