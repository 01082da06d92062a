import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { repositoryUrl, resolveLink } from '../../docs/site/links.mjs'
import { sidebar } from '../../docs/site/sidebar.mjs'
import { docsPages, llmsFullText } from '../../src/build/llms.mjs'

const root = fileURLToPath(new URL('../../', import.meta.url))

describe('the sidebar', () => {
  test('has each page of docs/ once', async () => {
    const items = (await sidebar()).flatMap((group) => group.items.flatMap((item) => [item, ...(item.items ?? [])]))
    const names = items.map(({ link }) => `${link.slice(1).replace(/\/$/, '/README')}.md`)
    expect(names.sort()).toEqual(await docsPages())
  })
})

describe('a link', () => {
  const REPOSITORY = 'https://github.com/someone/gdn'

  test.each([
    ['drops.md', 'docs/ci.md', '/drops.md'],
    ['drops.md#mint', 'docs/ci.md', '/drops.md#mint'],
    ['docs/drops.md', 'README.md', '/drops.md'],
    ['commands/README.md', 'docs/ci.md', '/commands/index.md'],
    ['README.md#flags-of-every-command', 'docs/commands/nft.md', '/commands/index.md#flags-of-every-command'],
    ['../blockchains.md', 'docs/commands/nft.md', '/blockchains.md'],
    ['../README.md#in-ci', 'docs/ci.md', '/#in-ci'],
    ['../examples/deploy/README.md#systemd', 'docs/install.md', '/deploy#systemd'],
    ['#mint', 'docs/drops.md', '#mint'],
    ['https://example.com/a', 'docs/drops.md', 'https://example.com/a'],
  ])('%s in %s leads to %s', (href, page, url) => {
    expect(resolveLink(href, page, undefined)).toEqual({ url })
  })

  test('to a file outside docs/ leads to the repository if package.json names it', () => {
    expect(resolveLink('../SECURITY.md#limits', 'docs/security.md', REPOSITORY)).toEqual({
      url: `${REPOSITORY}/blob/main/SECURITY.md#limits`,
    })
    expect(resolveLink('../SECURITY.md#limits', 'docs/security.md', undefined)).toEqual({ path: 'SECURITY.md' })
    expect(repositoryUrl({ repository: { url: `git+${REPOSITORY}.git` } })).toBe(REPOSITORY)
    expect(repositoryUrl({ repository: { url: `git+${REPOSITORY.replace('someone', 'OWNER')}.git` } })).toBeUndefined()
  })
})

test('llms-full.txt has the README and each page once', async () => {
  const full = await llmsFullText()
  const names = [...full.matchAll(/^<!-- (\S+\.md) -->$/gm)].map(([, name]) => name)
  expect(names.sort()).toEqual(['README.md', ...(await docsPages()).map((name) => `docs/${name}`)].sort())
  expect(full).toContain(await readFile(join(root, 'docs/drops.md'), 'utf8'))
})
