// `node src/build/completions.mjs`: generates the files of completions/ from the command tree.
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { readCommandTree } from './command-tree.mjs'
import { completionTables } from './completion-tables.mjs'
import { root } from './paths.mjs'

/**
 * For each shell, the source of its completion engine, the file name that the shell expects, and the function that
 * formats the tables.
 */
const SHELLS = [
  { engine: 'bash.sh', file: 'gdn.bash', tables: bourneTables },
  { engine: 'zsh.zsh', file: '_gdn', tables: bourneTables },
  { engine: 'fish.fish', file: 'gdn.fish', tables: fishTables },
  { engine: 'powershell.ps1', file: 'gdn.ps1', tables: powershellTables },
]

/** Writes the completion files to a folder. */
export async function generateCompletions(dir) {
  const tables = completionTables(await readCommandTree())
  await mkdir(join(dir, 'completions'), { recursive: true })
  for (const { engine, file, tables: print } of SHELLS) {
    const text = await readFile(join(root, 'src/build/completion', engine), 'utf8')
    await writeFile(
      join(dir, 'completions', file),
      text.replace('# TABLES\n', () => print(tables)),
    )
  }
}

/** Returns each table as a list of cases, each with a key and its lines. */
function asCases({ words, commands, bundles, values }) {
  return {
    words: [...words],
    arguments: commands.map(({ name, takes }) => [name, takes]).filter(([, takes]) => takes !== ''),
    bundles: commands.map((command) => [command.name, command.bundles.join(' ')]),
    flags: [...bundles],
    values: [...values],
  }
}

const print = (tables, one) =>
  Object.entries(asCases(tables))
    .map(([name, cases]) => one(name, cases))
    .join('\n')

function bourneTables(tables) {
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`
  return print(tables, (name, cases) => {
    const lines = cases.map(([key, text]) => `    ${quoted(key)}) REPLY=${quoted(text)} ;;\n`)
    return `__gdn_${name}() {\n  case $1 in\n${lines.join('')}    *) REPLY='' ;;\n  esac\n}\n`
  })
}

function fishTables(tables) {
  const quoted = (text) => `'${text.replaceAll(/[\\']/g, '\\$&')}'`
  return print(tables, (name, cases) => {
    const lines = cases.map(([key, text]) => {
      const answer = text.split('\n').map(quoted).join(' \\\n        ')
      return `    case ${quoted(key)}\n      printf '%s\\n' ${answer}\n`
    })
    return `function __gdn_${name}\n  switch "$argv[1]"\n${lines.join('')}  end\nend\n`
  })
}

function powershellTables(tables) {
  const quoted = (text) => `'${text.replaceAll("'", "''")}'`
  return print(tables, (name, cases) => {
    const lines = cases.map(([key, text]) => `    ${quoted(key)} = ${quoted(text)}\n`)
    return `  $${name} = @{\n${lines.join('')}  }\n`
  })
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await generateCompletions(root)
