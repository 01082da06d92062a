/** @module-tag slow */
import { spawnSync } from 'node:child_process'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (path: string) => readFile(join(root, path), 'utf8')

const manifest = JSON.parse(await read('package.json'))
const SCRIPT = join(root, '.github/release.mjs')
const NAMED = {
  version: '1.2.3',
  repository: { type: 'git', url: 'git+https://github.com/acme/nft-tool.git' },
}
const TAG = {
  GITHUB_REF_NAME: 'v1.2.3',
  GITHUB_REPOSITORY: 'acme/nft-tool',
  GITHUB_SERVER_URL: 'https://github.com',
}

async function check(
  content: object,
  env: Record<string, string> = TAG,
  changes = '# Changelog\n\n## [1.2.3] - today\n',
) {
  const folder = await temporaryFolder('gdn-release-')
  await writeFile(join(folder, 'package.json'), JSON.stringify(content))
  await writeFile(join(folder, 'CHANGELOG.md'), changes)
  const { status, stdout, stderr } = spawnSync(process.execPath, [SCRIPT], { cwd: folder, env, encoding: 'utf8' })
  expect(stderr).toBe('')
  return { status, problems: stdout.split('\n').filter((line) => line.startsWith('::error')) }
}

describe('a release', () => {
  test('goes on if its owner has set version, repository and package name', async () => {
    expect(await check(NAMED)).toEqual({ status: 0, problems: [] })
  })

  test.each([
    ['a private package', { ...NAMED, private: true }, TAG, 'package.json is private'],
    [
      'another repository',
      NAMED,
      { ...TAG, GITHUB_REPOSITORY: 'fork/nft-tool' },
      'and this one is git+https://github.com/fork',
    ],
    ['no repository', { version: '1.2.3' }, TAG, 'the repository in package.json is undefined'],
    ['a tag of another version', NAMED, { ...TAG, GITHUB_REF_NAME: 'v1.2.4' }, 'the tag is v1.2.4, and the version'],
  ])('is refused with %s, before anything is built', async (_, content, env, message) => {
    const { status, problems } = await check(content, env)
    expect(status).toBe(1)
    expect(problems).toEqual([expect.stringMatching(/nothing is published: .* See docs\/releasing\.md\.$/)])
    expect(problems[0]).toContain(message)
  })

  test('is refused without its section in the changelog', async () => {
    const { status, problems } = await check(NAMED, TAG, '# Changelog\n\n## [Unreleased]\n\nAs [1.2.3]\n')
    expect([status, problems.length]).toEqual([1, 1])
  })

  test('is refused in another repository than the one that this commit names', async () => {
    const { status, problems } = await check(manifest, { ...TAG, GITHUB_REF_NAME: `v${manifest.version}` })
    expect(status).toBe(1)
    expect(problems.join('\n')).toContain(manifest.repository.url)
  })

  test('builds and publishes nothing before that check', async () => {
    const { jobs } = parse(await read('.github/workflows/release.yml')) as {
      jobs: Record<string, { needs?: string | string[]; steps: { run?: string }[] }>
    }
    const first = Object.entries(jobs).filter(([, { needs }]) => needs === undefined)
    expect(first.map(([name]) => name)).toEqual(['names'])
    expect(jobs.names?.steps.flatMap(({ run }) => run ?? [])).toEqual(['node .github/release.mjs'])
  })
})

describe('the names', () => {
  const [, repository = ''] =
    /^git\+https:\/\/github\.com\/([\w.-]+\/[\w.-]+)\.git$/.exec(manifest.repository.url) ?? []

  /** Everything that people read or run, by path. Tests have names of their own. */
  async function texts(): Promise<[path: string, text: string][]> {
    const paths = (await readdir(root)).filter((name) => /\.(md|yml|json)$/.test(name) && name !== 'package-lock.json')
    for (const folder of ['docs', 'examples', '.github', '.ci', 'src', 'bin']) {
      const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true })
      const files = entries.filter((entry) => entry.isFile() && !/\.(png|svg|webp|gif|jpg|wasm)$/.test(entry.name))
      const found = files.map(({ parentPath, name }) => join(parentPath, name).slice(root.length))
      paths.push(...found.filter((path) => !/\/node_modules\/|package-lock\.json$/.test(path)))
    }
    return await Promise.all(paths.map(async (path): Promise<[string, string]> => [path, await read(path)]))
  }

  /** Where a repository of gdn is named: by an action, a flag, a link, or a placeholder. */
  const NAMES = [
    /uses: ([^\s@]+)@COMMIT/g,
    /--repo[ =]([^\s"$]+)/g,
    /github\.com[/:]([\w.<>{}$-]+\/gdn)\b/g,
    /github:([^\s"'`/]+\/[^\s"'`]+)/g,
    /(?<![\w./-])((?:OWNER|ORG|USER|ACCOUNT|<(?:owner|org|user|account)>|(?:your|my)-[\w-]+)\/[\w.<>-]+)/gi,
  ]

  test('the repository has one name everywhere, which package.json sets', async () => {
    expect(repository).toMatch(/^[\w.-]+\/[\w.-]+$/)
    const all = await texts()
    const found = all.flatMap(([path, text]) =>
      NAMES.flatMap((pattern) => [...text.matchAll(pattern)].map(([, name = '']) => ({ path, name }))),
    )
    expect(found.length).toBeGreaterThan(8)
    expect(found.filter(({ name }) => name !== repository)).toEqual([])
  })

  test('package.json is private, and these pages say that nothing is released, until the names are set', async () => {
    const isSet = !repository.startsWith('OWNER')
    expect(manifest.private === undefined).toBe(isSet)
    const said = /nothing is\s+released yet/i
    const pages = ['docs/install.md', 'docs/releasing.md', 'SECURITY.md']
    for (const page of pages) expect([page, said.test(await read(page))]).toEqual([page, !isSet])
    const others = (await texts()).filter(([path, text]) => !pages.includes(path) && said.test(text))
    expect(others.map(([path]) => path)).toEqual([])
  })

  test('docs/releasing.md has at most 60 lines', async () => {
    expect((await read('docs/releasing.md')).trimEnd().split('\n').length).toBeLessThanOrEqual(60)
  })
})
