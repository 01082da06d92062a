/** Returns the command reference as GitHub Markdown: the text of each page of docs/commands by its name. */
export function commandPages({ groups, commands, flags }) {
  const index = [
    '# Commands',
    'Each noun has a page with its commands, examples and flags. `gdn <command> --help` prints the same text.',
    ...groups.flatMap(({ title, entries }) => [`## ${title}`, contents(entries, commands)]),
    '## Flags of every command',
    flagTable(flags),
  ]
  const common = new Set(flags.map(({ name }) => name))
  const own = (command) => ({ ...command, flags: command.flags.filter(({ name }) => !common.has(name)) })
  const pages = groups
    .flatMap(({ entries }) => entries)
    .map((entry) => [`${entry.name}.md`, pageOf(entry, commandsOf(entry, commands).map(own))])
  return [['README.md', index], ...pages].map(([name, parts]) => [name, `${parts.join('\n\n')}\n`])
}

/** Returns the tables of other pages that are generated from the command tree, by name. */
export function generatedTables({ commands, exit_codes: codes, environment }) {
  const coded = codeIn(commands)
  const variables = (own) =>
    environment
      .filter(({ name }) => name.startsWith('GDN_') === own)
      .map(({ name, summary, flag }) => [code(name), coded(summary), flag === null ? '' : code(flag)])
  return {
    'exit-codes': table(
      ['Code', 'Meaning'],
      codes.map(({ code: number, meaning }) => [code(number), coded(meaning)]),
    ),
    'error-codes': table(
      ['Exit code', 'Values'],
      codes.flatMap(({ code: number, errors }) =>
        errors.length === 0 ? [] : [[code(number), errors.map(code).join(', ')]],
      ),
    ),
    'own-variables': table(['Variable', 'Meaning', 'Flag that overrides it'], variables(true)),
    'other-variables': table(['Variable', 'Meaning', 'Flag that overrides it'], variables(false)),
  }
}

/** Returns the table of the networks that need no configuration, as viem/chains defines them. */
export function blockchainTable(chains) {
  const evm = chains.map(({ name, chain: { id, name: title, nativeCurrency, testnet } }) => [
    code(name),
    `${title}, chain ID ${id}, ${nativeCurrency.symbol}${testnet === true ? ', testnet' : ''}`,
  ])
  const solana = [
    [code('solana'), 'Solana, SOL; no transfers through the API'],
    [code('solana-testnet'), 'Solana, SOL, testnet; no transfers through the API'],
  ]
  return table(['Name', 'Network, chain ID, coin'], [...evm, ...solana])
}

const commandsOf = ({ name, is_command: isCommand }, commands) =>
  commands.filter((command) => (isCommand ? command.name === name : command.name.startsWith(`${name} `)))

function contents(entries, commands) {
  const items = entries.map((entry) => {
    const page = `${entry.name}.md`
    const verbs = entry.is_command ? [] : commandsOf(entry, commands)
    const links = verbs.map(({ name }) => `[${name.slice(entry.name.length + 1)}](${page}#${anchor(name)})`)
    const list = links.length === 0 ? '' : `. Commands: ${links.join(', ')}`
    return `- [gdn ${entry.name}](${page}): ${prose(entry.summary)}${list}`
  })
  return items.join('\n')
}

function pageOf({ name, summary, is_command: isCommand }, commands) {
  const common = 'The command also accepts the [flags of every command](README.md#flags-of-every-command).'
  if (isCommand) return [`# gdn ${name}`, ...commands.flatMap(commandPart), common]
  return [
    `# gdn ${name}`,
    `${prose(summary)}. The commands also accept the [flags of every command](README.md#flags-of-every-command).`,
    table(
      ['Command', 'What it does'],
      commands.map((command) => [`[gdn ${command.name}](#${anchor(command.name)})`, prose(command.summary)]),
    ),
    ...commands.flatMap((command) => [`## gdn ${command.name}`, ...commandPart(command)]),
  ]
}

function commandPart({ summary, about, usage, examples, flags }) {
  const groups = new Map()
  for (const flag of flags) groups.set(flag.group, [...(groups.get(flag.group) ?? []), flag])
  return [
    prose(`${summary}.`),
    ...(about ?? '').split('\n').filter(Boolean).map(prose),
    shell(examples.map((example) => [`# ${example.summary}`, ...example.lines].join('\n')).join('\n\n')),
    `Usage: \`${usage}\``,
    ...[...groups].flatMap(([title, own]) => [`**${title}**`, flagTable(own)]),
  ]
}

function flagTable(flags) {
  const rows = flags.map(({ name, short, placeholder, summary, values }) => {
    const form = `${short === null ? '' : `${short}, `}${name}${placeholder === null ? '' : ` <${placeholder}>`}`
    return [code(form), prose(summary) + valuesOf(name, summary, values)]
  })
  return table(['Flag', 'Meaning'], rows)
}

/** Returns the values of a flag if its summary doesn't list them. The blockchains have their own page. */
function valuesOf(name, summary, values) {
  if (values === null || values.every((value) => summary.includes(value))) return ''
  if (name === '--blockchain') return ' ([names](../blockchains.md#blockchains))'
  return `: ${values.map(code).join(', ')}`
}

const table = (header, rows) =>
  [header, header.map(() => '---'), ...rows].map((cells) => `| ${cells.map(cell).join(' | ')} |`).join('\n')

const cell = (text) => text.replaceAll('|', '\\|')
const code = (text) => `\`${text}\``
const shell = (text) => `\`\`\`sh\n${text}\n\`\`\``
const anchor = (command) => `gdn-${command.replaceAll(' ', '-')}`

/** Returns a function that escapes text, and formats the commands, flags, variables and paths in it as code. */
function codeIn(commands) {
  const names = commands.map(({ name }) => name).join('|')
  const pattern = new RegExp(
    `(gdn (?:${names})(?: <[a-z]+>| --[a-z-]+)*|--[a-z-]+|\\b[A-Z]+_[A-Z_]+\\b|~/[\\w./]*\\w|\\w+\\.yaml|ipfs://|s3://)`,
  )
  return (text) =>
    text
      .split(pattern)
      .map((part, i) => (i % 2 === 0 ? prose(part) : code(part)))
      .join('')
}

/** Escapes text so that it contains no markup except for code in backticks. */
const prose = (text) => text.replaceAll(/(`[^`]+`)|[\\`*_<>[\]#]/g, (found, span) => span ?? `\\${found}`)
