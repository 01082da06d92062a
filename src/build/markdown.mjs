/** The command reference as GitHub Markdown. */
export function commandsMarkdown({ summary, groups, commands, flags }) {
  return `${[
    '# Commands',
    `${summary} \`gdn <command> --help\` prints the same.`,
    ...groups.map(({ title, entries }) => contents(title, entries, commands)),
    '## Flags of every command',
    flagTable(flags),
    ...commands.flatMap(commandPart),
  ].join('\n\n')}\n`
}

/** The tables of other pages that are generated from the command tree, by name. */
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

/** The table of the networks that need no configuration, as viem/chains defines them. */
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

function contents(title, entries, commands) {
  const lines = entries.map(({ name, summary, is_command: isCommand }) => {
    const verbs = commands.filter((command) => command.name.startsWith(`${name} `))
    return isCommand
      ? `- ${link(`gdn ${name}`)}: ${prose(summary)}`
      : `- \`${name}\`: ${prose(summary)}: ${verbs.map((verb) => link(`gdn ${verb.name}`)).join(', ')}`
  })
  return `**${title}**\n\n${lines.join('\n')}`
}

function commandPart({ name, summary, about, usage, examples, flags }) {
  const groups = new Map()
  for (const flag of flags) groups.set(flag.group, [...(groups.get(flag.group) ?? []), flag])
  return [
    `## gdn ${name}`,
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
    const words =
      values === null || values.every((value) => summary.includes(value)) ? '' : `: ${values.map(code).join(', ')}`
    return [code(form), prose(summary) + words]
  })
  return table(['Flag', 'Meaning'], rows)
}

const table = (header, rows) =>
  [header, header.map(() => '---'), ...rows].map((cells) => `| ${cells.map(cell).join(' | ')} |`).join('\n')

const cell = (text) => text.replaceAll('|', '\\|')
const code = (text) => `\`${text}\``
const shell = (text) => `\`\`\`sh\n${text}\n\`\`\``
const link = (heading) => `[${heading}](#${heading.replaceAll(' ', '-')})`

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

/** Escapes text so that it contains no markup. */
const prose = (text) => text.replaceAll(/[\\`*_<>[\]#]/g, '\\$&')
