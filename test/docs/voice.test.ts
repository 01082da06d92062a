import { readdir, readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const FOLDERS = ['src', 'test', 'docs', 'examples', 'bench', 'completions', '.ci', '.github']
const TEXT = /\.(ts|tsx|mjs|js|cjs|css|sol|md|yml|yaml|json|sh|fish|bash|ps1|cfg|service)$|_gdn$|\/run$/

/** Phrases that are not plain technical English, or that name a thing by another word than the field does. */
const BANNED = [
  /\bbe(came|comes?) of\b/,
  /\bunder way\b/,
  /\bon (its|their) way\b/,
  /\bnobody (knows|waits|looks|asks)\b/i,
  /\bw(hat|ho)ever\b/i,
  /\bfor ever\b/,
  /\bblot(s|ted)?\b/,
  /\bmend(s|ed|ing)?\b/,
  /\bset-up\b/i,
  /\bheed(s|ed)?\b/,
  /\bfates?\b/,
  /\blanes?\b/,
  /\bstorms?\b/,
  /\bweather\b/,
  /\bwish(es)?\b/,
  /\banew\b/,
  /\bin good order\b/,
  /\bgo(es)? on where\b/,
  /\btold so\b/,
  /\b(gives?|given|gave|giving) up\b/,
  /\bleft? alone\b/,
  /\bappetite\b/,
  /\bneighbour/,
  /\bcomplain(t|s|ts)?\b/,
  /\bput right\b/,
  /\bblack hole\b/,
  /\bfaults on demand\b/,
  /\bsettings in force\b/,
  /\bstands here\b/,
  /\bis in the manifest no more\b/,
  /\bwithout both nobody\b/,
  /\beverything is well\b/i,
  /\bhosted (minting )?API\b/i,
  /\bunit of gas\b/,
  /\bof unknown outcome\b/,
  /\bchanges folded\b/,
  /\bare no tools\b/,
  /\bstands for one request\b/,
  /\btells? (its|their) fees?\b/,
  /\bempty transaction takes\b/,
  /\bminted names the\b/,
  /\bwork longer until\b/,
  /\bNothing tells\b/,
  /\bidentity of a developer\b/,
  /\bbelieve accepted\b/,
  /\bwhat doesn't fit\b/,
  /\bsends nothing again by itself\b/,
  /\bprevents? that (its|their|the)\b/,
]

/** Words that text which users read has another word for. Identifiers and comments may have them. */
const NOT_SHOWN = [
  // image
  /(?<![\w.#-])pictures?(?![\w=-])/i,
  // hosted service
  /\b(hosted|remote|public) (API|backend|server|provider|platform|minting service)s?\b/i,
  /\b(cloud|third-party|external) (service|backend|server|API)s?\b/i,
  /\bserver for it\b/i,
  // run
  /\b(batch|drop|minting) (run|job|session|family|families)s?\b/i,
  /\b(resume[ds]?|interrupted|finished|unfinished|earlier|latest) (the |a |this )?(batch(es)?|session|family)\b/i,
]

async function textFiles(): Promise<string[]> {
  const inFolders = await Promise.all(
    FOLDERS.map(async (folder) => {
      const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true })
      return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
    }),
  )
  const onTop = (await readdir(root)).filter((name) => name.endsWith('.md')).map((name) => join(root, name))
  return [...inFolders.flat(), ...onTop].filter(
    (path) =>
      TEXT.test(path) && !/\/(?:generated|node_modules)\//.test(path) && path !== fileURLToPath(import.meta.url),
  )
}

test('help, messages, comments, docs and test titles contain no banned phrase', async () => {
  const found: string[] = []
  for (const path of await textFiles()) {
    const lines = (await readFile(path, 'utf8')).split('\n')
    for (const [i, line] of lines.entries()) {
      if (BANNED.some((phrase) => phrase.test(line))) found.push(`${relative(root, path)}:${i + 1}: ${line.trim()}`)
    }
  }
  expect(found).toEqual([])
})

test('comments in src name a thing instead of asking what it does', async () => {
  const found: string[] = []
  for (const path of (await textFiles()).filter((path) => relative(root, path).startsWith('src/'))) {
    if (/\/\*\* What /.test(await readFile(path, 'utf8'))) found.push(relative(root, path))
  }
  expect(found).toEqual([])
})

/** Returns the text of a line that users read: prose without code, or literals that have more than one word. */
function shownIn(path: string, line: string): string {
  if (path.endsWith('.md')) return line.replaceAll(/`[^`]*`/g, '')
  if (/^\s*(\*|\/\*|\/\/|import\b|export \*)/.test(line)) return ''
  const literals = [...line.matchAll(/(['"`])((?:(?!\1)[^\\]|\\.)*)\1/g)].map(([, , text = '']) => text)
  return literals
    .filter((text) => /\S\s+\S|^[A-Z][a-z]+$/.test(text))
    .map((text) => text.replaceAll(/\$\{[^}]*\}|<[^>]*>/g, ' '))
    .join('\n')
}

test('what users read has one word for one thing', async () => {
  const found: string[] = []
  const read = (await textFiles()).filter((path) => /\.md$|^src\/.*\.tsx?$/.test(relative(root, path)))
  for (const path of read) {
    const lines = (await readFile(path, 'utf8')).split('\n')
    for (const [i, line] of lines.entries())
      if (NOT_SHOWN.some((word) => word.test(shownIn(path, line))))
        found.push(`${relative(root, path)}:${i + 1}: ${line.trim()}`)
  }
  expect(found).toEqual([])
})
