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

/**
 * Returns the names of HTML tags in a page that are not closed, outside of code. A line that begins with a tag ends
 * inline code on the site, because VitePress reads the line as HTML.
 */
function unclosedTags(text: string): string[] {
  const prose = text
    .replaceAll(/^( *)(`{3,}).*?^ *\2$/gms, '')
    .replaceAll(/(`+)(?!`)(?:(?!\n *<|\n\n).)+?(?<!`)\1(?!`)/gs, '')
    .replaceAll(/<!--.*?-->/gs, '')
  const open = new Map<string, number>()
  for (const [, slash, name = ''] of prose.matchAll(/(?<!\\)<(\/?)([a-z][\w-]*)(?=[\s/>])[^<>]*(?<!\/)>/gi)) {
    open.set(name, (open.get(name) ?? 0) + (slash === '/' ? -1 : 1))
  }
  return [...open].filter(([name, count]) => count !== 0 && !/^(?:br|hr|img|source)$/.test(name)).map(([name]) => name)
}

describe('a page', () => {
  test.each([
    ['Use `gdn batch reconcile\n<run>` and resume.', ['run']],
    ['Use <run>.', ['run']],
    ['Use `gdn batch\nreconcile <run>`, ``a ` <b>``, \\<c> or https://example.com.', []],
    ['```sh\ngdn batch resume <run>\n```\n<img src="a.png"> <p align="center">\n<b>x</b></p>', []],
  ])('leaves the tags open that are outside of code: %j', (text, tags) => {
    expect(unclosedTags(text)).toEqual(tags)
  })

  test('leaves no HTML tag open, because the site would not build', async () => {
    const names = ['README.md', 'examples/deploy/README.md', ...(await docsPages()).map((name) => `docs/${name}`)]
    const found = await Promise.all(
      names.map(async (name) =>
        unclosedTags(await readFile(join(root, name), 'utf8')).map((tag) => `${name}: <${tag}>`),
      ),
    )
    expect(found.flat()).toEqual([])
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
