/** @module-tag slow */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { lexer, type Token, type Tokens, walkTokens } from 'marked'
import { beforeAll, describe, expect, test } from 'vitest'
import { readCommandTree } from '../../src/build/command-tree.mjs'
import { docsPages } from '../../src/build/llms.mjs'
import type { CommandTree } from '../../src/cli/command-tree.ts'
import { artFileSchema } from '../../src/cli/schema/art-schema.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const deploy = join(root, 'examples/deploy/README.md')
const names = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...(await docsPages()).map((name) => `docs/${name}`),
  'docs/llms.txt',
]
const pages = await Promise.all(
  names.sort().map(async (name) => {
    const text = await readFile(join(root, name), 'utf8')
    return { name, text, tokens: allTokens(text) }
  }),
)
/** Pages that are written by hand. The commands are generated from help texts, which have separate tests. */
const prose = pages.filter(({ name }) => !name.startsWith('docs/commands/'))

function allTokens(text: string): Token[] {
  const all: Token[] = []
  walkTokens(lexer(text), (token) => {
    all.push(token)
  })
  return all
}

test('docs/art.md names every key of art.yaml', () => {
  const keys = new Set<string>()
  JSON.stringify(artFileSchema(), (key, value) => {
    if (key === 'properties') for (const name of Object.keys(value)) keys.add(name)
    return value
  })
  const text = pages.find(({ name }) => name === 'docs/art.md')?.text ?? ''
  expect(keys.size).toBeGreaterThan(20)
  expect(
    [...keys].filter((key) => !text.includes(`\`${key}\``) && !new RegExp(`^ +-? ?${key}:`, 'm').test(text)),
  ).toEqual([])
})

test('the README has at most 200 lines', () => {
  const readme = pages.find(({ name }) => name === 'README.md')
  expect(readme?.text.split('\n').length).toBeLessThanOrEqual(200)
})

describe.each(pages)('$name', ({ name, text, tokens }) => {
  test('has each row of a table on one line', () => {
    const outside = text.replaceAll(/^( *)```[\s\S]*?^\1```/gm, '')
    expect(outside.split('\n').filter((line) => /^\|.*[^|\s]\s*$/.test(line))).toEqual([])
  })

  test('shows only images that exist', () => {
    const sources = [...text.matchAll(/<(?:img|source)\b[^>]*?\bsrc(?:set)?="([^"]+)"/g)].map(
      ([, source = '']) => source,
    )
    expect(sources.filter((source) => !existsSync(join(root, dirname(name), source)))).toEqual([])
  })

  test('links only to existing files and headings', async () => {
    const links = tokens.filter((token): token is Tokens.Link => token.type === 'link').map(({ href }) => href)
    const broken = []
    for (const link of links.filter((href) => !/^https?:/.test(href))) {
      const [path = '', anchor] = link.split('#')
      const target = path === '' ? name : join(dirname(name), path)
      const isThere =
        existsSync(join(root, target)) &&
        (anchor === undefined || anchorsOf(await readFile(join(root, target), 'utf8')).includes(anchor))
      if (!isThere) broken.push(link)
    }
    expect(broken).toEqual([])
  })
})

/** The pages that the README lists for those who learn or do something. */
const guides = [
  ...(pages.find(({ name }) => name === 'README.md')?.text.matchAll(/^\| (?:learn|do something) \|.*$/gm) ?? []),
]
  .flatMap(([row]) => [...row.matchAll(/\((docs\/[\w-]+\.md)\)/g)].map(([, name = '']) => name))
  .sort()

/** The pages that install gdn. */
const INSTALL = ['docs/install.md']

describe('guides', () => {
  test.each(guides.filter((name) => !INSTALL.includes(name)))(
    '%s says what the reader needs before its first commands',
    (name) => {
      const text = pages.find((page) => page.name === name)?.text ?? ''
      expect(text.slice(0, text.indexOf('```sh')).replaceAll(/\s+/g, ' ')).toMatch(
        /you need|needs only|\b(?:needs|Install) \[?(?:gdn|Node\.js)/i,
      )
    },
  )

  test('need no jq', () => {
    const blocks = guides.flatMap((name) => [
      ...(pages.find((page) => page.name === name)?.text ?? '').matchAll(/^ *```.*?^ *```$/gms),
    ])
    expect(blocks.filter(([block]) => /\bjq\b/.test(block))).toEqual([])
  })
})

/** Commands in blocks that readers aren't meant to paste as they are, and what tests them. */
const NOT_PASTED: Readonly<Record<string, string>> = {
  'npm pack --pack-destination ../my-project': 'test/e2e/pack.test.ts packs and installs the package',
  'npm install ./gdn-0.1.0.tgz': 'test/e2e/pack.test.ts packs and installs the package',
  'gdn collection archive 0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811 -b polygon --to tides.car \\':
    'test/archive/archive.test.ts archives a contract from a node and a gateway',
  'gdn collection check 0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811 -b polygon \\':
    'test/archive/archive.test.ts checks a contract from a node and a gateway',
  'gdn art import build --out build/manifest.csv': 'test/cli/art/import.test.ts imports such folders',
  'gdn batch validate build/manifest.csv -b polygon --receiver @alice':
    'test/cli/art/import.test.ts reads the manifest as batch validate does',
  'gdn batch mint lucky.csv --unrevealed hidden.json --shuffle':
    'test/reveal/shuffle-backend.test.ts mints such a drop',
  'gdn reveal lucky.csv': 'test/reveal/shuffle-backend.test.ts reveals such a drop',
  'gdn nft verify "$CONTRACT/1" --on-chain -b polygon --rpc-url https://node.example --gateway https://ipfs.io':
    'test/cli/nft/verify.test.ts verifies a token without a server',
  'gdn collection set "$CONTRACT" -b polygon --rpc-url https://node.example/KEY --royalty 5% --safe batch.json':
    'test/cli/collection/safe.test.ts executes the batch with a Safe',
  'gdn collection set "$CONTRACT" -b polygon --rpc-url https://node.example/KEY --accept-owner --safe accept.json':
    'test/cli/collection/safe.test.ts accepts the ownership with a Safe',
}

test('commands are in blocks that tests paste, or named with their test', () => {
  const commands = prose.flatMap(({ tokens }) =>
    tokens
      .filter((token) => token.type === 'code' && !['sh', 'console'].includes(token.lang ?? ''))
      .flatMap(({ raw }) => raw.match(/^ *(?:gdn|npm) .*$/gm) ?? []),
  )
  expect(commands.map((line) => line.trim()).sort()).toEqual(Object.keys(NOT_PASTED).sort())
})

test('pasted again, a block keeps the passwords, keys and secrets that it wrote', async () => {
  const blocks = [...pages, { name: 'examples/deploy/README.md', text: await readFile(deploy, 'utf8') }].flatMap(
    ({ name, text }) =>
      [...text.matchAll(/^ *```(?:sh|console)\n(.*?)^ *```$/gms)].map(([, block = '']) => ({ name, block })),
  )
  const writes = blocks.flatMap(({ name, block }) =>
    [...block.matchAll(/^.*?[^>\d&=<-]>\|? *"?([\w./~$-]*(?:pass|secret|key|mnemonic|token)[\w./-]*)/gm)].map(
      ([line, file = '']) => ({ name, line: line.trim(), file }),
    ),
  )
  expect(writes.length).toBeGreaterThan(5)
  expect(writes.filter(({ line, file }) => !line.startsWith(`[ -s ${file} ] || `))).toEqual([])
})

/** The anchors that GitHub generates for the headings of a page. */
function anchorsOf(text: string): string[] {
  return allTokens(text)
    .filter((token): token is Tokens.Heading => token.type === 'heading')
    .map(({ text: heading }) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    )
}

describe('commands in the docs', () => {
  let tree: CommandTree
  beforeAll(async () => {
    tree = await readCommandTree()
  })

  /** Command lines of shell blocks, and inline code that starts with `gdn `. */
  const commandsOf = ({ tokens }: { tokens: readonly Token[] }) =>
    tokens.flatMap((token) => {
      if (token.type === 'codespan') return token.text.startsWith('gdn ') ? [token.text] : []
      if (token.type !== 'code' || !['sh', 'console', 'yaml'].includes(token.lang ?? '')) return []
      const lines: string[] = token.text.replaceAll('\\\n', ' ').split('\n')
      return lines.flatMap((line) => line.replace(/(^|\s)#.*/, '').match(/(?<![\w./@-])gdn [a-z][^;|&)}>]*/g) ?? [])
    })

  test.each(prose)('$name names commands and flags that exist', (page) => {
    const wrong = commandsOf(page).filter((line) => {
      const words = line
        .replace(/ -- .*/, '')
        .trim()
        .split(/\s+/)
        .slice(1)
      if (words[0] === 'help' || /^[<-]/.test(words[0] ?? '')) return false
      const command = tree.commands.find(({ name }) => `${words.join(' ')} `.startsWith(`${name} `))
      if (command === undefined)
        return !tree.groups.some(({ entries }) => entries.some(({ name }) => name === words[0]))
      const known = command.flags.flatMap(({ name, short, aliases }) => [name, short, ...aliases])
      return words.some(
        (word: string) => word.startsWith('-') && word !== '-' && !known.includes(word.replace(/=.*/, '')),
      )
    })
    expect(wrong).toEqual([])
  })
})

describe('the text of', () => {
  /** Paragraphs, list items and cells as sentences, without code and link targets. */
  const sentencesOf = (tokens: readonly Token[]) =>
    tokens
      .filter(({ type }) => ['paragraph', 'list_item'].includes(type))
      .flatMap((token) => ('text' in token ? String(token.text) : '').replaceAll(/\s+/g, ' ').split(/(?<=[.!?:])\s+/))
      .map((sentence) => sentence.split(' ').length)
      .sort((a, b) => a - b)

  test.each(prose)('$name has sentences of at most 25 words, in 9 of 10 cases', ({ tokens }) => {
    const lengths = sentencesOf(tokens)
    expect(lengths[Math.floor(lengths.length * 0.9)] ?? 0).toBeLessThanOrEqual(25)
  })

  test('the README has at most 1,000 words', () => {
    const readme = prose.find(({ name }) => name === 'README.md')
    const text = readme?.text.replaceAll(/<!--.*?-->/gs, '') ?? ''
    expect(text.trim().split(/\s+/).length).toBeLessThanOrEqual(1000)
  })

  // The introductions of guides say what a reader needs, which is often the same.
  test('no sentence below the introduction is repeated on another page', () => {
    const seen = new Map<string, string>()
    const twice: string[] = []
    for (const { name, text } of prose) {
      const sentences = text
        .replace(/^.*?(?=^## )/ms, '')
        .replaceAll(/```.*?```/gs, '')
        .replaceAll(/^[|<#].*$/gm, '')
        .replaceAll(/\s+/g, ' ')
        .split(/(?<=[.!?])\s+/)
      for (const sentence of new Set(sentences.filter((one) => one.split(' ').length > 6))) {
        const other = seen.get(sentence)
        if (other === undefined) seen.set(sentence, name)
        else twice.push(`${other}, ${name}: ${sentence}`)
      }
    }
    expect(twice).toEqual([])
  })
})
