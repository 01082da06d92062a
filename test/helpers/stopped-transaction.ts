import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { onTestFinished } from 'vitest'

const STOP = `
const Database = require('libsql')
new Database(process.argv[1]).exec('BEGIN EXCLUSIVE')
process.stdout.write('inside')
process.kill(process.pid, 'SIGSTOP')
`

/** Starts a process that is stopped inside a database transaction, and returns its PID. The test ends it. */
export async function stopInTransaction(path: string): Promise<number | undefined> {
  const child = spawn(process.execPath, ['-e', STOP, path], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  await Promise.race([
    once(child.stdout, 'data'),
    once(child, 'exit').then(() => Promise.reject(new Error('it ended before it was stopped'))),
  ])
  return child.pid
}
