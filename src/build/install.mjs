// This module runs before any package is installed, so it imports only built-in modules.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { run } from './run.mjs'

/**
 * Returns whether node_modules matches package-lock.json, according to npm's own record. Optional packages may be
 * missing, because most of them are for other machines.
 */
export async function isInstalled(root) {
  const [wanted, found] = await Promise.all([
    readPackages(join(root, 'package-lock.json')),
    readPackages(join(root, 'node_modules', '.package-lock.json')),
  ])
  if (wanted === undefined || found === undefined) return false
  for (const [path, entry] of Object.entries(wanted)) {
    const present = found[path]
    if (path === '') continue
    if (present === undefined) {
      if (!entry.optional && !entry.devOptional) return false
    } else if (present.version !== entry.version || present.integrity !== entry.integrity) return false
  }
  return Object.keys(found).every((path) => path in wanted)
}

async function readPackages(file) {
  try {
    return JSON.parse(await readFile(file, 'utf8')).packages
  } catch (error) {
    if (error.code === 'ENOENT' || error instanceof SyntaxError) return undefined
    throw error
  }
}

/** Runs `npm ci` in a folder. Shows no output, and never runs install scripts, because no package needs them. */
export async function install(root) {
  const { code, output } = await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: root })
  if (code !== 0) throw new Error(`npm ci failed:\n${reasonIn(output)}`)
}

const MAX_LINES = 15

/**
 * Returns the lines of npm's output that contain the errors. They follow warnings, such as EBADENGINE for each package,
 * and may precede pages of usage.
 */
export function reasonIn(output) {
  const lines = output.split('\n').filter((line) => line.trim() !== '')
  const errors = lines.filter((line) => /^npm (error|ERR!)/.test(line))
  return errors.length > 0 ? errors.slice(0, MAX_LINES).join('\n') : lines.slice(-MAX_LINES).join('\n')
}
