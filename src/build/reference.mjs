// `node src/build/reference.mjs`: generates parts of docs/ from the command tree and viem/chains. The build creates the
// man page.
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { knownChains } from './chains.mjs'
import { readCommandTree, readHelp, readSchemas } from './command-tree.mjs'
import { llmsText } from './llms.mjs'
import { manPage } from './man-page.mjs'
import { blockchainTable, commandPages, generatedTables } from './markdown.mjs'
import { root } from './paths.mjs'

/** Hand-written pages with generated tables. */
const PAGES = ['docs/blockchains.md', 'docs/configuration.md', 'docs/exit-codes.md']

/** Matches a generated table and its markers. */
const GENERATED = /(<!-- generated: ([a-z-]+) -->\n).*?(<!-- end -->)/gs

/** Returns the man page as a file for the build's folder. */
export async function manPageFile(folder) {
  return { path: join(folder, 'man', 'gdn.1'), contents: Buffer.from(manPage(await readHelp())) }
}

/** Returns the JSON Schemas as files for the build's folder. */
export async function schemaFiles(folder) {
  return (await readSchemas()).map(([name, schema]) => ({
    path: join(folder, 'schemas', `${name}.json`),
    contents: Buffer.from(`${JSON.stringify(schema, null, 2)}\n`),
  }))
}

/** Writes the generated pages of docs/, and the hand-written pages with their generated tables, to a folder. */
export async function generateReference(dir) {
  const tree = await readCommandTree()
  const tables = { ...generatedTables(tree), blockchains: blockchainTable(await knownChains()) }
  const commands = join(dir, 'docs/commands')
  await rm(commands, { recursive: true, force: true })
  await mkdir(commands, { recursive: true })
  for (const [name, text] of commandPages(tree)) await writeFile(join(commands, name), text)
  await writeFile(join(dir, 'docs/llms.txt'), await llmsText())
  for (const page of PAGES) {
    const text = await readFile(join(root, page), 'utf8')
    await writeFile(
      join(dir, page),
      text.replaceAll(GENERATED, (_, start, name, end) => `${start}\n${tables[name]}\n\n${end}`),
    )
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await generateReference(root)
