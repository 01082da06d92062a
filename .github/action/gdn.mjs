// The steps of action.yml: `setup` installs gdn, `run` runs a command and resumes it, and `collect` writes the files to
// upload.
import { spawn } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { appendFileSync, readdirSync, readFileSync } from 'node:fs'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { basename, delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { commentOnPullRequest } from './comment.mjs'

const COMMANDS = ['mint', 'apply', 'plan', 'validate', 'install']
const SETTINGS = {
  'base-url': 'GDN_BASE_URL',
  blockchain: 'GDN_BLOCKCHAIN',
  contract: 'GDN_CONTRACT',
  'api-key': 'GDN_API_KEY',
}

// The first three variables aren't passed to gdn.
const { INPUTS = '{}', TOKEN, ACTION_REPOSITORY, ...env } = process.env
const inputs = JSON.parse(INPUTS)
const bin = join(env.RUNNER_TEMP, 'gdn', 'bin')
const run = inputs.run || basename(inputs.manifest)
const event = env.GITHUB_EVENT_PATH ? JSON.parse(readFileSync(env.GITHUB_EVENT_PATH, 'utf8')) : {}

env.PATH = `${bin}${delimiter}${env.PATH}`
for (const [input, variable] of Object.entries(SETTINGS)) if (inputs[input]) env[variable] = inputs[input]

const digestOf = (value) => createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 12)
/** The run or the path of the manifest, because manifests in different folders can have the same file name. */
const drop = inputs.run || join(inputs['working-directory'] || '.', inputs.manifest)
/** Identifies the drop, for the state in the cache and the comment. */
const digest = digestOf([env.GDN_BASE_URL, env.GDN_BLOCKCHAIN, env.GDN_CONTRACT?.toLowerCase(), drop])
/**
 * A name without the characters that cache keys and artifact names reject. It ends in a digest: a cache is found by the
 * beginning of its key, and the state of `drop-2` must never be restored for `drop`.
 */
const named = (name, id) => `${name.replace(/[^\w.-]+/g, '-').slice(0, 100)}-${id}`
const stateKey = inputs['state-key']
const artifact = named(`gdn-${run}`, digest)
const prefix = `${stateKey ? named(stateKey, digestOf(stateKey)) : artifact}-`
/**
 * Folder of this drop's files. Each drop of the job has its own, so that a restored state is never mixed with another.
 */
const folder = join(env.RUNNER_TEMP, 'gdn', prefix)
env.GDN_STATE_DIR = join(folder, 'state')

const print = (text) => process.stdout.write(`${text}\n`)
const escaped = (text) => text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
const annotate = (kind, message) => print(`::${kind} title=gdn::${escaped(message)}`)
/** Escapes text for Markdown. */
const inert = (text) => text.replace(/[^\p{L}\p{N} ]/gu, (char) => `&#${char.codePointAt(0)};`)
const summarize = (markdown) => appendFileSync(env.GITHUB_STEP_SUMMARY, `${markdown}\n`)
/** Values are digits, our own paths and plain text, so no value contains a line break. */
const output = (values) =>
  appendFileSync(
    env.GITHUB_OUTPUT,
    Object.entries(values)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(''),
  )

/** An error of the workflow, shown without a stack. */
class UsageError extends Error {}

/**
 * Runs a program, and returns its exit code, its standard error and, with `keep`, its standard output. With `quiet`,
 * its standard error isn't printed.
 */
function start(program, argv, { keep = false, quiet = false } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, argv, { env, stdio: ['ignore', keep ? 'pipe' : 'inherit', 'pipe'] })
    const stop = (signal) => child.kill(signal)
    // A cancelled job sends SIGINT to this process alone. gdn then records what it knows, and ends.
    process.on('SIGINT', stop).on('SIGTERM', stop)
    const chunks = []
    child.stdout?.on('data', (chunk) => chunks.push(chunk))
    const said = []
    child.stderr.on('data', (chunk) => {
      said.push(chunk)
      if (!quiet) process.stderr.write(chunk)
    })
    child.on('error', reject)
    child.on('close', (code) => {
      process.off('SIGINT', stop).off('SIGTERM', stop)
      const [stdout, stderr] = [chunks, said].map((all) => Buffer.concat(all).toString())
      resolve({ code: code ?? 143, stdout, stderr })
    })
  })
}

const gdn = (argv, options) => start(join(bin, 'gdn'), argv, options)

/** Runs a command, and annotates an error in an input with the input's name. gdn itself annotates errors in files. */
async function gdnWithInputs(argv, options) {
  const result = await gdn(argv, options)
  const [, flag, problem] = /^error: (?:(--[a-z-]+|GDN_[A-Z_]+): )?(.*)$/m.exec(result.stderr) ?? []
  if (result.code !== 2 || problem === undefined) return result
  const named = Object.keys(inputs).find((name) => flag === `--${name}` || flag === (SETTINGS[name] ?? null))
  if (named !== undefined) annotate('error', `${named}: ${problem}`)
  else if (flag !== undefined) annotate('error', `args: ${flag}: ${problem}`)
  else if (/^(unknown option|the flag) /.test(problem)) annotate('error', `args: ${problem}`)
  return result
}

/** The flags of the input `args`: one per line, with its value after the first space. */
const moreFlags = () =>
  inputs.args.split('\n').flatMap((line) => {
    const [, flag, value] = /^\s*(\S+)(?:\s+(.*?))?\s*$/.exec(line) ?? []
    return flag === undefined ? [] : value === undefined ? [flag] : [flag, value]
  })

async function setup() {
  if (!COMMANDS.includes(inputs.command)) throw new UsageError(`command must be one of ${COMMANDS.join(', ')}`)
  const installs = inputs.command === 'install'
  for (const name of ['upload', 'comment']) {
    if (['true', 'false'].includes(inputs[name])) continue
    throw new UsageError(`${name} must be true or false, not "${inputs[name]}"`)
  }
  if (!installs && !inputs.manifest) throw new UsageError('manifest is missing: the path of a CSV or JSON file')
  if (env.GDN_API_KEY) print(`::add-mask::${escaped(env.GDN_API_KEY)}`)
  await mkdir(bin, { recursive: true })
  await mkdir(env.GDN_STATE_DIR, { recursive: true, mode: 0o700 })
  const main = inputs.version ? await installRelease() : fileURLToPath(new URL('../../bin/gdn.js', import.meta.url))
  const quoted = [process.execPath, main].map((word) => `'${word.replaceAll("'", `'\\''`)}'`)
  await writeFile(join(bin, 'gdn'), `#!/bin/sh\nexec ${quoted.join(' ')} "$@"\n`)
  await chmod(join(bin, 'gdn'), 0o755)
  appendFileSync(env.GITHUB_PATH, `${bin}\n`)
  // A checkout that was never built builds itself now.
  const { code } = await gdn(['--version'])
  if (code !== 0) throw new UsageError('gdn could not be installed')
  if (installs) return
  output({
    'state-prefix': prefix,
    'state-dir': env.GDN_STATE_DIR,
    // An earlier step of this job has left the newest state.
    restore: readdirSync(env.GDN_STATE_DIR).length === 0,
    // A cache key can be written only once, so each use of the action has its own. The newest cache with the prefix is
    // restored.
    'state-key': `${prefix}${env.GITHUB_RUN_ID}-${env.GITHUB_RUN_ATTEMPT}-${Date.now()}-${randomUUID().slice(0, 8)}`,
    artifact,
    sends: ['mint', 'apply'].includes(inputs.command),
  })
}

/**
 * Downloads the package of a release, compares its checksum and unpacks it. It has no dependencies. Returns the path of
 * its program.
 */
async function installRelease() {
  const { version, sha256 } = inputs
  if (!/^\d+\.\d+\.\d+$/.test(version)) throw new UsageError('version must be a release such as 0.1.0')
  if (!/^[0-9a-f]{64}$/.test(sha256)) throw new UsageError('version needs sha256, the checksum of the package')
  const name = `gdn-${version}.tgz`
  const url = `${env.GITHUB_SERVER_URL}/${ACTION_REPOSITORY}/releases/download/v${version}/${name}`
  const response = await fetch(url, { signal: AbortSignal.timeout(120_000) })
  if (!response.ok) throw new UsageError(`${url}: ${response.status}`)
  const bytes = Buffer.from(await response.arrayBuffer())
  const found = createHash('sha256').update(bytes).digest('hex')
  if (found !== sha256) throw new UsageError(`${name} has the checksum ${found}, not ${sha256}`)
  await writeFile(join(folder, name), bytes)
  const { code } = await start('tar', ['-xzf', join(folder, name), '-C', folder])
  if (code !== 0) throw new UsageError(`${name} could not be unpacked`)
  return join(folder, 'package', 'bin', 'gdn.js')
}

/** Pull requests of forks and of Dependabot get no secrets. */
const hasNoSecrets = () =>
  !env.GDN_API_KEY &&
  event.pull_request !== undefined &&
  (event.pull_request.head?.repo?.full_name !== env.GITHUB_REPOSITORY || env.GITHUB_ACTOR === 'dependabot[bot]')

const NO_SECRETS = 'pull requests from forks and from Dependabot get no secrets, so there is no API key'

async function runCommand() {
  const flags = [`--run=${run}`, ...moreFlags()]
  const sending = [...flags, '--yes', `--timeout=${inputs.timeout}`]
  const manifest = ['--', inputs.manifest]
  if (inputs.command === 'validate')
    return (await gdnWithInputs(['batch', 'validate', ...moreFlags(), ...manifest])).code
  if (hasNoSecrets()) {
    if (inputs.command !== 'plan') throw new UsageError(`nothing was sent: ${NO_SECRETS}`)
    annotate('notice', `The manifest is only validated, not planned: ${NO_SECRETS}`)
    summarize(`The manifest was only validated, not planned: ${NO_SECRETS}.`)
    return (await gdnWithInputs(['batch', 'validate', ...moreFlags(), ...manifest])).code
  }
  if (inputs.command === 'plan') return await plan(['plan', '-o', 'markdown', ...flags, ...manifest])
  const isMint = inputs.command === 'mint'
  const send = isMint
    ? () => gdnWithInputs(['batch', 'mint', ...sending, ...manifest])
    : () => applyOnce(['apply', ...sending, '-o', 'csv', '--fields', APPLIED.join(','), ...manifest])
  let { code } = await send()
  const repeated = new Set()
  // Each kind of recovery is tried once.
  while ([6, 7, 8, 9].includes(code) && !repeated.has(code)) {
    repeated.add(code)
    print(`gdn ended with exit code ${code}. Resuming…`)
    if (isMint && code === 7) {
      ;({ code } = await gdn(['batch', 'retry', '--yes', `--timeout=${inputs.timeout}`, '--', run]))
      continue
    }
    if (code === 9) {
      const reconciled = await gdn(['batch', 'reconcile', `--timeout=${inputs.timeout}`, '--', run])
      // A run that has not begun has nothing to reconcile.
      if (isMint && reconciled.code !== 0) return reconciled.code === 2 ? code : reconciled.code
    }
    ;({ code } = await send())
  }
  return code
}

const APPLIED = ['minted', 'updated', 'transferred', 'burned', 'pending', 'failed', 'unknown']

/** Runs `gdn apply`, and adds what it changed to the summary and the outputs. */
async function applyOnce(argv) {
  const result = await gdnWithInputs(argv, { keep: true })
  const [, line = ''] = result.stdout.split(/\r?\n/)
  if (!/^[\d,]+$/.test(line)) return result
  const counts = line.split(',')
  const rule = APPLIED.map(() => '---:')
  const heading = ['### gdn apply', '', `Manifest: ${inert(inputs.manifest)}`, '']
  summarize([...heading, ...[APPLIED, rule, counts].map((cells) => `| ${cells.join(' | ')} |`), ''].join('\n'))
  const [minted, , , , , failed, unknown] = counts
  output({ minted, failed, unknown })
  return result
}

async function plan(argv) {
  const { code, stdout } = await gdnWithInputs(argv, { keep: true })
  const job = `${env.GITHUB_SERVER_URL}/${env.GITHUB_REPOSITORY}/actions/runs/${env.GITHUB_RUN_ID}`
  const sha = event.pull_request?.head?.sha ?? env.GITHUB_SHA
  const failed = `\`gdn plan\` ended with exit code ${code} for the manifest ${inert(inputs.manifest)}.`
  const text = code === 0 ? stdout : `### Plan failed\n\n${failed}\n`
  const body = `${text}\nCommit ${sha}, [log](${job})\n`
  summarize(body)
  if (code === 0) {
    const file = join(folder, 'plan.md')
    await writeFile(file, stdout)
    output({ plan: file })
  }
  const number = event.pull_request?.number
  if (number === undefined || inputs.comment !== 'true') return code
  const { GITHUB_API_URL: api, GITHUB_REPOSITORY: repository } = env
  const marker = `<!-- gdn plan ${digest} -->`
  await commentOnPullRequest({ api, repository, number, token: TOKEN, marker, body })
  return code
}

async function collect() {
  const status = await gdn(['batch', 'status', '--json', '--', run], { keep: true, quiet: true })
  if (status.code !== 0) {
    // Not an error: the command may have failed before its run began. The last error in the log is then the cause.
    print(status.code === 2 ? 'There are no results: the run has not begun.' : status.stderr)
    return
  }
  const { deployed, failed, unknown } = JSON.parse(status.stdout)
  const [results, report] = [join(folder, 'results.csv'), join(folder, 'report.html')]
  output({ minted: deployed, failed, unknown })
  const rows = await gdn(['batch', 'results', '-o', 'csv', '--', run], { keep: true })
  if (rows.code === 0) {
    await writeFile(results, rows.stdout)
    output({ results })
  }
  const written = await gdn(['batch', 'report', `--to=${report}`, '--force', '--', run])
  if (written.code === 0) output({ report })
}

async function main(step) {
  if (step === 'setup') return await setup()
  if (step === 'collect') return await collect()
  const code = await runCommand()
  output({ 'exit-code': code })
  process.exitCode = code
}

await main(process.argv[2]).catch((error) => {
  annotate('error', error instanceof UsageError ? error.message : `${error.stack}`)
  process.exitCode = 1
})
