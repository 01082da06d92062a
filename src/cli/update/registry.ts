import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { execPath } from 'node:process'

const USUAL = 'https://registry.npmjs.org/'

/**
 * The registry that npm installs from: its variable, then the user's .npmrc, then the global one. A project's .npmrc
 * has no say in what is installed globally, and none here.
 */
export async function npmRegistry(env: NodeJS.ProcessEnv, node: string = execPath): Promise<URL> {
  const config = (name: string) => env[`npm_config_${name}`] || env[`NPM_CONFIG_${name.toUpperCase()}`] || undefined
  const user = config('userconfig') ?? join(env.HOME ?? homedir(), '.npmrc')
  const global = config('globalconfig') ?? join(config('prefix') ?? dirname(dirname(node)), 'etc', 'npmrc')
  const named = config('registry') ?? (await registryIn(user, env)) ?? (await registryIn(global, env)) ?? USUAL
  const url = new URL(named.endsWith('/') ? named : `${named}/`)
  return /^https?:$/.test(url.protocol) ? url : new URL(USUAL)
}

async function registryIn(file: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const text = await readFile(file, 'utf8').catch(() => '')
  const lines = text.split(/\r?\n/).flatMap((line) => /^\s*registry\s*=\s*(.+?)\s*$/.exec(line)?.[1] ?? [])
  return lines
    .at(-1)
    ?.replace(/^(["'])(.*)\1$/, '$2')
    .replace(/\$\{(\w+)\}/g, (whole, name: string) => env[name] ?? whole)
}
