/** @module-tag slow */
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import * as z from 'zod'
import { type CollectionWorld, drop } from '../archive/collection-world.ts'
import { tempHome } from '../cli/harness.ts'
import { whenFileDone } from '../helpers/clean-up.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const ADDRESS = '0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811'

const workflowShape = z.strictObject({
  name: z.string(),
  on: z.strictObject({ schedule: z.array(z.strictObject({ cron: z.string() })), workflow_dispatch: z.null() }),
  concurrency: z.string(),
  permissions: z.strictObject({ contents: z.literal('read'), issues: z.literal('write') }),
  jobs: z.strictObject({
    check: z.strictObject({
      'runs-on': z.string(),
      'timeout-minutes': z.number(),
      steps: z.tuple([
        z.strictObject({
          uses: z.literal('OWNER/gdn@COMMIT'),
          with: z.strictObject({ command: z.literal('install') }),
        }),
        z.strictObject({ env: z.record(z.string(), z.string()), run: z.string() }),
      ]),
    }),
  }),
})

let workflow: z.output<typeof workflowShape>
let world: CollectionWorld
beforeAll(async () => {
  const page = await readFile(join(root, 'docs/archives.md'), 'utf8')
  const [block = ''] = /(?<=```yaml\n)name: check files[^`]+/.exec(page) ?? []
  workflow = workflowShape.parse(parse(block))
  world = await drop(2, undefined, whenFileDone)
})

/**
 * Runs the script of the workflow as a runner does, with the built gdn. `gh` and `sleep` only record their arguments.
 *
 * @param issue the number of the open issue, or an empty text
 */
async function runJob({ node = world.node.url, issue = '' } = {}) {
  const { dir } = await tempHome()
  const program = async (name: string, lines: string) => {
    await writeFile(join(dir, name), `#!/bin/bash\n${lines}\n`)
    await chmod(join(dir, name), 0o755)
  }
  await program('gdn', `echo "gdn $*" >> "$HOME/calls"; exec "${process.execPath}" "${join(root, 'bin/gdn.js')}" "$@"`)
  await program('gh', `echo "gh $*" >> "$HOME/calls"; if [ "$2" = list ]; then printf %s "${issue}"; fi`)
  await program('sleep', `echo "sleep $*" >> "$HOME/calls"`)
  const [, { run, env }] = workflow.jobs.check.steps
  const script = run.replace('https://trustless-gateway.link', world.gateway.url)
  await writeFile(join(dir, 'job.sh'), script)
  const own = { HOME: dir, PATH: `${dir}:/usr/bin:/bin`, TITLE: env.TITLE ?? '', GDN_RPC_URL: node }
  // The shell that GitHub uses for `run`.
  const options = { cwd: dir, env: own, extendEnv: false, reject: false } as const
  const { exitCode, stderr } = await execa('bash', ['-e', 'job.sh'], options)
  const calls = (await readFile(join(dir, 'calls'), 'utf8')).trimEnd().split('\n')
  return { exitCode, stderr, calls, body: await readFile(join(dir, 'issue.md'), 'utf8') }
}

test('the job passes its secret and the issue title to the script, and checks the collection of the page', () => {
  const [, { env, run }] = workflow.jobs.check.steps
  expect(Object.keys(env).sort()).toEqual(['GDN_RPC_URL', 'GH_REPO', 'GH_TOKEN', 'TITLE'])
  expect(env.GDN_RPC_URL).toMatch(/^\$\{\{ secrets\.GDN_RPC_URL \}\}$/)
  // Only values of the environment: GitHub would insert expressions into the script before it runs.
  expect(run).not.toContain('${{')
  expect(run).toContain(`gdn collection check ${ADDRESS} -b polygon`)
})

test('the job succeeds if all files can be read, and opens no issue', async () => {
  const { exitCode, stderr, calls } = await runJob()
  expect(exitCode, stderr).toBe(0)
  expect(calls).toEqual([expect.stringMatching(/^gdn collection check .* -o markdown$/)])
})

test('the job repeats the check while the node does not respond, and fails without an issue', async () => {
  const { exitCode, calls } = await runJob({ node: 'http://127.0.0.1:9' })
  expect(exitCode).toBe(6)
  const check = expect.stringMatching(/^gdn collection check/)
  expect(calls).toEqual([check, 'sleep 60', check, 'sleep 60', check, 'sleep 60'])
})

test('the job opens an issue with the lost files, or updates the open one, and fails', async () => {
  const [lost = ''] = [...world.gateway.blocks.keys()]
  world.gateway.blocks.delete(lost)
  const { exitCode, stderr, calls, body } = await runJob()
  expect(exitCode, stderr).toBe(7)
  expect(calls.slice(1)).toEqual([
    expect.stringMatching(/^gh issue list --search in:title "Files of the collection can't be read"/),
    "gh issue create --title Files of the collection can't be read --body-file issue.md",
  ])
  expect(body).toContain('ipfs://')
  const again = await runJob({ issue: '12' })
  expect([again.exitCode, again.calls.at(-1)]).toEqual([7, 'gh issue edit 12 --body-file issue.md'])
})
