import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { parse } from 'yaml'
import * as z from 'zod'

const step = z.strictObject({
  id: z.string().optional(),
  if: z.string().optional(),
  uses: z.string().optional(),
  with: z.record(z.string(), z.union([z.string(), z.boolean()])).optional(),
  shell: z.literal('bash').optional(),
  'working-directory': z.string().optional(),
  env: z.record(z.string(), z.string()).optional(),
  run: z.string().optional(),
})
const action = z.looseObject({
  inputs: z.record(z.string(), z.strictObject({ description: z.string(), default: z.string().optional() })),
  outputs: z.record(z.string(), z.strictObject({ description: z.string(), value: z.string() })),
  runs: z.strictObject({ using: z.literal('composite'), steps: z.array(step) }),
})

export const readAction = async (folder: string) =>
  action.parse(parse(await readFile(join(folder, 'action.yml'), 'utf8')))

export interface Job {
  /** The checkout of the action. */
  action: string
  /** The input values of the `with` of the workflow. */
  inputs: Record<string, string>
  workspace: string
  /** A folder that has the caches and artifacts of all jobs. */
  store: string
  /** Variables of the job, and those of the machine. */
  env: NodeJS.ProcessEnv
  github: { repository: string; token: string; apiUrl: string; serverUrl?: string; actor?: string; event: object }
  /** The RUNNER_TEMP of a job whose earlier step used the action as well. */
  temp?: string
  /** Called with the process of each `run:` step, to end it. */
  onStep?: (id: string, child: ChildProcess) => void
}

export interface JobResult {
  /** The outcome of each step with an ID. */
  outcomes: Record<string, 'success' | 'failure' | 'skipped'>
  failed: boolean
  outputs: Record<string, string>
  /** Everything that the steps printed, before the runner masks secrets. */
  log: string
  summary: string
  /** The content of the uploaded files by name. */
  uploaded: Record<string, string>
  /** The folder that the action added to PATH. */
  path: string[]
}

/** Runs a composite action as a runner of GitHub does. Of the actions that it uses, it has stand-ins. */
export async function runAction(job: Job): Promise<JobResult> {
  const { inputs: declared, outputs, runs } = await readAction(job.action)
  const temp = job.temp ?? (await mkdtemp(join(job.store, 'runner-')))
  const inputs = Object.fromEntries(
    Object.entries(declared).map(([name, { default: value = '' }]) => [name, job.inputs[name] ?? value]),
  )
  const unknown = Object.keys(job.inputs).filter((name) => !(name in inputs))
  if (unknown.length > 0) throw new Error(`unexpected inputs: ${unknown.join(', ')}`)
  const steps: Record<string, { outputs: Record<string, string> }> = {}
  const github = { token: job.github.token, action_repository: 'acme/gdn' }
  const contexts = { inputs, steps, github, runner: { temp } }
  const result: JobResult = { outcomes: {}, failed: false, outputs: {}, log: '', summary: '', uploaded: {}, path: [] }
  await writeFile(join(temp, 'event.json'), JSON.stringify(job.github.event))

  for (const [index, one] of runs.steps.entries()) {
    const id = one.id ?? `step-${index}`
    const condition = one.if ?? 'success()'
    const always = /\b(always|failure|success|cancelled)\(\)/.test(condition)
    const state = { ...contexts, failed: result.failed }
    if (!truthy(evaluate(always ? condition : `success() && (${condition})`, state))) {
      result.outcomes[id] = 'skipped'
      continue
    }
    const inputs = Object.fromEntries(
      Object.entries(one.with ?? {}).map(([name, value]) => [name, interpolate(String(value), state)]),
    )
    let isSuccess: boolean
    if (one.uses !== undefined) {
      const [name = ''] = one.uses.split('@')
      const standIn = STAND_INS[name]
      if (standIn === undefined) throw new Error(`no stand-in for ${name}`)
      const { log, files = {} } = await standIn(inputs, job.store)
      result.log += log
      Object.assign(result.uploaded, files)
      isSuccess = true
    } else {
      const folder = await mkdtemp(join(temp, 'step-'))
      const file = (name: string) => join(folder, name)
      for (const name of ['output', 'summary', 'env', 'path', 'state']) await writeFile(file(name), '')
      await writeFile(file('script.sh'), one.run ?? '')
      const env = {
        ...job.env,
        PATH: [...result.path.toReversed(), job.env.PATH].join(':'),
        CI: 'true',
        GITHUB_ACTIONS: 'true',
        GITHUB_ACTION_PATH: job.action,
        GITHUB_ACTOR: job.github.actor ?? 'alice',
        GITHUB_API_URL: job.github.apiUrl,
        GITHUB_SERVER_URL: job.github.serverUrl ?? 'https://github.com',
        GITHUB_REPOSITORY: job.github.repository,
        GITHUB_WORKSPACE: job.workspace,
        GITHUB_RUN_ID: '4711',
        GITHUB_RUN_ATTEMPT: '1',
        GITHUB_SHA: 'f'.repeat(40),
        GITHUB_EVENT_PATH: join(temp, 'event.json'),
        GITHUB_OUTPUT: file('output'),
        GITHUB_STEP_SUMMARY: file('summary'),
        GITHUB_ENV: file('env'),
        GITHUB_PATH: file('path'),
        GITHUB_STATE: file('state'),
        RUNNER_TEMP: temp,
        ...Object.fromEntries(Object.entries(one.env ?? {}).map(([name, value]) => [name, interpolate(value, state)])),
      }
      const cwd = resolve(job.workspace, interpolate(one['working-directory'] ?? '.', state))
      const { code, log } = await runScript(file('script.sh'), { cwd, env }, (child) => job.onStep?.(id, child))
      result.log += log
      result.summary += await readFile(file('summary'), 'utf8')
      result.path.push(...(await readFile(file('path'), 'utf8')).split('\n').filter(Boolean))
      steps[id] = { outputs: readOutputs(await readFile(file('output'), 'utf8')) }
      if ((await readFile(file('env'), 'utf8')) !== '') throw new Error('the action sets variables of the job')
      isSuccess = code === 0
    }
    result.outcomes[id] = isSuccess ? 'success' : 'failure'
    if (!isSuccess) result.failed = true
  }
  const end = { ...contexts, failed: result.failed }
  result.outputs = Object.fromEntries(
    Object.entries(outputs).map(([name, { value }]) => [name, interpolate(value, end)]),
  )
  return result
}

function runScript(
  script: string,
  options: { cwd: string; env: NodeJS.ProcessEnv },
  onStart: (child: ChildProcess) => void,
): Promise<{ code: number | null; log: string }> {
  const child = spawn('bash', ['--noprofile', '--norc', '-e', '-o', 'pipefail', script], {
    ...options,
    stdio: ['ignore', 'pipe', 'pipe'],
    // Its own group, which a test can end like a machine that is gone.
    detached: true,
  })
  onStart(child)
  let log = ''
  const add = (chunk: Buffer) => {
    log += chunk
  }
  child.stdout.on('data', add)
  child.stderr.on('data', add)
  return new Promise((done, reject) => {
    child.on('error', reject)
    child.on('close', (code) => done({ code, log }))
  })
}

function readOutputs(text: string): Record<string, string> {
  const lines = text.split('\n').filter(Boolean)
  return Object.fromEntries(
    lines.map((line) => {
      const [, name, value] = /^([\w-]+)=(.*)$/.exec(line) ?? []
      if (name === undefined || value === undefined) throw new Error(`invalid output: ${line}`)
      return [name, value]
    }),
  )
}

type StandIn = (
  given: Record<string, string>,
  store: string,
) => Promise<{ log: string; files?: Record<string, string> }>

/** What the actions of others do, with a folder in the place of their services. */
const STAND_INS: Record<string, StandIn> = {
  async 'actions/cache/restore'({ path = '', key = '', 'restore-keys': prefix = '' }, store) {
    const caches = join(store, 'caches')
    const all = existsSync(caches) ? await readdir(caches) : []
    const ages = new Map(
      await Promise.all(all.map(async (name) => [name, (await stat(join(caches, name))).mtimeMs] as const)),
    )
    // As the real one: the exact key, or else the newest whose key begins with the prefix.
    const newest = all
      .filter((name) => name.startsWith(prefix))
      .toSorted((a, b) => (ages.get(b) ?? 0) - (ages.get(a) ?? 0))
    const found = [key, ...newest].find((name) => all.includes(name))
    if (existsSync(path) && (await readdir(path)).length > 0) throw new Error(`${path} has files of another state`)
    if (found === undefined) return { log: 'Cache not found\n' }
    await cp(join(caches, found), path, { recursive: true })
    return { log: `Cache restored from key: ${found}\n` }
  },
  async 'actions/cache/save'({ path = '', key = '' }, store) {
    if (key === '' || key.length > 512 || key.includes(',')) throw new Error(`invalid cache key: ${key}`)
    const place = join(store, 'caches', key)
    // The real one warns, and doesn't save.
    if (existsSync(place)) throw new Error(`the cache ${key} exists`)
    await cp(path, place, { recursive: true })
    return { log: `Cache saved with key: ${key}\n` }
  },
  async 'actions/upload-artifact'({ name = '', path = '' }, store) {
    if (name === '' || /["':<>|*?\r\n\\/]/.test(name)) throw new Error(`invalid artifact name: ${name}`)
    const paths = path.split('\n').filter(Boolean)
    // The real one requires the input, even with if-no-files-found.
    if (paths.length === 0) throw new Error('Input required and not supplied: path')
    const files = await Promise.all(paths.map(async (file) => [file.split('/').at(-1), await readFile(file, 'utf8')]))
    await mkdir(join(store, 'artifacts', name), { recursive: true })
    return { log: `Artifact ${name} uploaded\n`, files: Object.fromEntries(files) }
  },
}

interface State {
  inputs: Record<string, string>
  steps: Record<string, { outputs: Record<string, string> }>
  github: Record<string, string>
  runner: Record<string, string>
  failed: boolean
}

const interpolate = (text: string, state: State): string =>
  text.replaceAll(/\$\{\{(.*?)\}\}/gs, (_, expression: string) => String(evaluate(expression, state)))

const truthy = (value: string | boolean): boolean => value !== '' && value !== false

/** Evaluates the part of GitHub's expressions that action.yml uses, and rejects the rest. */
function evaluate(expression: string, state: State): string | boolean {
  const tokens = expression.match(/'(?:[^']|'')*'|[\w.-]+|==|!=|&&|\|\||[()]|\S/g) ?? []
  const functions: Record<string, (argument: string) => string | boolean> = {
    always: () => true,
    success: () => !state.failed,
    toJSON: (name) => JSON.stringify(z.record(z.string(), z.unknown()).parse(lookUp(name)), null, 2),
  }
  const lookUp = (path: string): unknown => {
    let value: unknown = state
    for (const name of path.split('.')) value = z.record(z.string(), z.unknown()).parse(value ?? {})[name]
    return value
  }
  const take = (expectedToken?: string): string => {
    const token = tokens.shift() ?? ''
    if (expectedToken !== undefined && token !== expectedToken)
      throw new Error(`${expectedToken} is missing in ${expression}`)
    return token
  }
  const primary = (): string | boolean => {
    const token = take()
    if (token === '(') {
      const value = or()
      take(')')
      return value
    }
    if (token.startsWith("'")) return token.slice(1, -1).replaceAll("''", "'")
    if (!/^[a-zA-Z][\w.-]*$/.test(token)) throw new Error(`can't evaluate ${token} in ${expression}`)
    if (tokens[0] !== '(') return String(lookUp(token) ?? '')
    tokens.shift()
    const argument = take()
    if (argument !== ')') take(')')
    const called = functions[token]
    if (called === undefined) throw new Error(`unknown function ${token} in ${expression}`)
    return called(argument)
  }
  const comparison = (): string | boolean => {
    const left = primary()
    if (tokens[0] !== '==' && tokens[0] !== '!=') return left
    return take() === '==' ? left === primary() : left !== primary()
  }
  const and = (): string | boolean => {
    let value = comparison()
    while (tokens[0] === '&&') {
      take()
      const right = comparison()
      value = truthy(value) ? right : value
    }
    return value
  }
  const or = (): string | boolean => {
    let value = and()
    while (tokens[0] === '||') {
      take()
      const right = and()
      value = truthy(value) ? value : right
    }
    return value
  }
  const value = or()
  if (tokens.length > 0) throw new Error(`can't evaluate ${tokens[0]} in ${expression}`)
  return value
}
