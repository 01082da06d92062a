import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { root } from './paths.mjs'

/** Runs tests of projects with an environment and a Node binary, and prints the output. Returns whether all passed. */
export async function runTests(projects, { args = [], env, node = process.execPath }) {
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
  const child = spawn(node, [vitest, 'run', ...projects.flatMap((project) => ['--project', project]), ...args], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: 'inherit',
  })
  return await new Promise((resolve) => child.once('close', (code) => resolve(code === 0)))
}
