// Generates docs/llms.txt (llmstxt.org), a list of the documentation's pages for agents, from the README and the pages.
import { readdir, readFile } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { root } from './paths.mjs'

/** Matches a row of the README's table of pages. */
const ROW = /^\| ([a-z ]+) \| (\[.*\]\(docs\/.*\)) \|$/gm
const LINK = /\(docs\/([\w/-]+\.md)\)/g

/** Returns the text of docs/llms.txt. Pages that the README doesn't list are optional. */
export async function llmsText() {
  const readme = await readFile(join(root, 'README.md'), 'utf8')
  const pages = new Set(await docsPages())
  const lines = ['# gdn', '', `> ${sentenceIn(readme)}`]
  const section = async (title, names) => {
    lines.push('', `## ${title}`, '')
    for (const name of names) {
      pages.delete(name)
      const page = await readFile(join(root, 'docs', name), 'utf8')
      lines.push(`- [${/^# (.*)$/m.exec(page)[1]}](${name}): ${sentenceIn(page)}`)
    }
  }
  for (const [, title, links] of readme.matchAll(ROW)) {
    await section(title[0].toUpperCase() + title.slice(1), new Set([...links.matchAll(LINK)].map(([, name]) => name)))
  }
  await section(
    'Commands',
    [...pages].filter((name) => name.startsWith('commands/')),
  )
  await section('Optional', [...pages])
  return `${lines.join('\n')}\n`
}

/**
 * Returns the text of llms-full.txt, which only the site contains: the README and all pages, in the order of llms.txt.
 */
export async function llmsFullText() {
  const links = (await llmsText()).matchAll(/^- \[.*?\]\((.*?)\)/gm)
  const names = ['README.md', ...[...links].map(([, name]) => `docs/${name}`)]
  const pages = names.map(async (name) => `<!-- ${name} -->\n\n${await readFile(join(root, name), 'utf8')}`)
  return (await Promise.all(pages)).join('\n')
}

/** Returns the pages of docs/ and docs/commands, as paths relative to docs/. */
export async function docsPages() {
  const names = await Promise.all(
    ['.', 'commands'].map(async (folder) =>
      (await readdir(join(root, 'docs', folder))).map((name) => posix.join(folder, name)),
    ),
  )
  return names
    .flat()
    .filter((name) => name.endsWith('.md'))
    .sort()
}

/** Returns the first sentence of a page, without links. */
function sentenceIn(page) {
  const paragraphs = page.replace(/^```.*?^```$/gms, '').split(/\n{2,}/)
  const prose = paragraphs.find((text) => /^[A-Za-z`[]/.test(text.trim())) ?? ''
  const plain = prose.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll(/\s+/g, ' ')
  return /^.*?[.:](?= |$)/.exec(plain.trim())?.[0].replace(/:$/, '.') ?? plain.trim()
}
