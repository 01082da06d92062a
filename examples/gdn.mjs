import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { root } from '../src/build/paths.mjs'

const script = join(root, 'bin', 'gdn.js')

/** Runs gdn and returns its JSON output. On failure its message becomes the error. */
export async function gdnJson(...args) {
  const { code, stdout, stderr } = await start([...args, '--json'], ['ignore', 'pipe', 'pipe'])
  if (code !== 0) throw new Error(`gdn ${args.join(' ')}\n${reasonOf(stderr)}`)
  return stdout.trim() === '' ? undefined : JSON.parse(stdout)
}

/** Runs gdn with visible progress, and shows its result unless disabled. */
export async function gdnShown(args, { result = true } = {}) {
  const { code } = await start(args, ['ignore', result ? 'inherit' : 'ignore', 'inherit'])
  if (code !== 0) throw new Error(`gdn ${args.join(' ')}\nexited with ${code}`)
}

function start(args, stdio) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [script, ...args], { cwd: root, stdio })
    const said = { stdout: '', stderr: '' }
    for (const name of ['stdout', 'stderr']) {
      child[name]?.setEncoding('utf8').on('data', (text) => {
        said[name] += text
      })
    }
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, ...said }))
  })
}

function reasonOf(stderr) {
  try {
    const { message, hint } = JSON.parse(stderr.trim().split('\n').at(-1)).error
    return [message, hint].filter(Boolean).join('\n')
  } catch {
    return stderr.trim()
  }
}
