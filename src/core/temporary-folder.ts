import { spawn } from 'node:child_process'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execPath } from 'node:process'

/**
 * Run by a process of its own, whose stdin ends with this process. Ends the processes that have a pidfile in the folder
 * and name the folder in their command line, and removes the folder.
 */
const CLEAN_UP = `
const { readdirSync, readFileSync, rmSync } = require('node:fs')
const { execFileSync } = require('node:child_process')
const { join } = require('node:path')
const [folder] = process.argv.slice(1)
const commandOf = (pid) => {
  try { return readFileSync('/proc/' + pid + '/cmdline', 'utf8') } catch {}
  try { return execFileSync('ps', ['-p', String(pid), '-o', 'command='], { encoding: 'utf8' }) } catch { return '' }
}
const end = () => {
  try {
    for (const name of readdirSync(folder, { recursive: true })) {
      if (!name.endsWith('.pid')) continue
      const { pid } = JSON.parse(readFileSync(join(folder, name), 'utf8'))
      if (commandOf(pid).includes(folder)) process.kill(pid, 'SIGKILL')
    }
  } catch {}
  rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
}
process.stdin.on('end', end).on('error', end).resume()
`

/**
 * Runs work with a private temporary folder. The folder is removed afterwards with the processes that have a pidfile in
 * it, even if this process is killed.
 */
export async function withTemporaryFolder<Result>(
  prefix: string,
  work: (folder: string) => Promise<Result>,
): Promise<Result> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), prefix)))
  const guard = spawn(execPath, ['-e', CLEAN_UP, folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: {},
    windowsHide: true,
  })
  // Without it, only a kill of this process leaves something behind.
  guard.on('error', () => {})
  guard.stdin.on('error', () => {})
  guard.unref()
  try {
    return await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 })
    guard.stdin.destroy()
  }
}
