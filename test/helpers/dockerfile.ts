import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface ImageConfig {
  env: Record<string, string>
  user: string
  volumes: string[]
  healthcheck: string[]
  entrypoint: string[]
  cmd: string[]
}

export interface BaseImage {
  /** The root directory. A stage whose commands run needs one with a shell. */
  root: string
  env: Record<string, string>
}

interface Stage extends ImageConfig {
  root: string
  args: Record<string, string>
}

/** Instructions with continued lines joined, and without comments. */
function instructionsOf(text: string): [name: string, rest: string][] {
  const lines = text.split('\n').filter((line) => !/^\s*#/.test(line))
  const joined = lines.join('\n').replaceAll(/\\\n\s*/g, '')
  return joined
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [, name = '', rest = ''] = /^(\w+)\s+(.*)$/.exec(line.trim()) ?? []
      return [name, rest]
    })
}

const list = (json: string): string[] => JSON.parse(json)

/**
 * Builds an image without a daemon: interprets the instructions of a Dockerfile in root directories, and rejects
 * others.
 *
 * @param context the folder from which files are copied
 * @param baseOf returns the root directory of a base image
 */
export async function buildImage(
  text: string,
  context: string,
  baseOf: (name: string) => Promise<BaseImage>,
): Promise<{ root: string; config: ImageConfig }> {
  const stages = new Map<string, Stage>()
  let stage: Stage | undefined
  for (const [name, rest] of instructionsOf(text)) {
    if (name === 'FROM') {
      const [, base = '', as = ''] = /^(\S+?)@sha256:[0-9a-f]{64}(?: AS (\w+))?$/.exec(rest) ?? []
      const { root, env } = await baseOf(base)
      stage = { root, env, args: {}, user: '0', volumes: [], healthcheck: [], entrypoint: [], cmd: [] }
      stages.set(as, stage)
      continue
    }
    if (stage === undefined) throw new Error(`${name} before FROM`)
    const { env, args } = stage
    const words = () =>
      rest.split(/\s+/).map((word) => word.replaceAll(/\$\{(\w+)\}/g, (_, key) => args[key] ?? env[key] ?? ''))
    const pairs = () => Object.fromEntries(words().map((word) => word.split(/=(.*)/s).slice(0, 2)))
    if (name === 'ARG') Object.assign(args, pairs())
    else if (name === 'ENV') Object.assign(env, pairs())
    else if (name === 'USER') stage.user = rest
    else if (name === 'VOLUME') stage.volumes.push(...words())
    else if (name === 'ENTRYPOINT') stage.entrypoint = list(rest)
    else if (name === 'CMD') stage.cmd = list(rest)
    else if (name === 'HEALTHCHECK') stage.healthcheck = list(rest.slice(rest.indexOf('CMD ') + 4))
    else if (name === 'RUN') await run('chroot', [stage.root, '/bin/sh', '-c', rest], { env: { ...env, ...args } })
    else if (name === 'COPY') {
      const [first = '', ...others] = words()
      const from = /^--from=(\w+)$/.exec(first)?.[1]
      const [source = '', target = ''] = from === undefined ? [first, ...others] : others
      const root = from === undefined ? context : stages.get(from)?.root
      if (root === undefined || others.length !== (from === undefined ? 1 : 2)) throw new Error(`COPY ${rest}`)
      await copy(join(root, source), join(stage.root, target))
    } else if (name !== 'EXPOSE') throw new Error(`unknown instruction: ${name} ${rest}`)
  }
  if (stage === undefined) throw new Error('no FROM')
  return { root: stage.root, config: stage }
}

/** Copies a file, or the content of a directory into another, with its modes and links. */
async function copy(source: string, target: string): Promise<void> {
  await mkdir(dirname(target), { recursive: true })
  await run('cp', ['-a', '-T', source, target])
}
