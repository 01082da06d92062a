import { spawn } from 'node:child_process'

/** Runs a command to its end and returns its exit code and piped output. Rejects if it can't be started. */
export function run(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    // npm and the tools in node_modules/.bin are .cmd files on Windows.
    const shell = process.platform === 'win32'
    const child = spawn(command, args, { shell, stdio: ['ignore', 'pipe', 'pipe'], ...options })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text) => {
        output += text
      })
    }
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, output }))
  })
}
