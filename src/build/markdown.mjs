/** The reference of the commands as Markdown (GitHub's). */
export function commandsMarkdown({ tree, topics }) {
  const { version, summary, groups, commands, flags } = tree
  return `${[
    '# Commands of gdn',
    `${summary} Version ${version}; \`gdn <command> --help\` says the same.`,
    ...groups.map(({ title, entries }) => contents(title, entries, commands)),
    `**Help topics**: ${topics.map(({ name }) => link(`gdn help ${name}`)).join(', ')}`,
    '## Flags of every command',
    flagTable(flags),
    ...commands.flatMap(commandPart),
    ...topics.flatMap(topicPart),
  ].join('\n\n')}\n`
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

function topicPart({ name, about, examples, sections }) {
  return [
    `## gdn help ${name}`,
    prose(about),
    shell(examples.map(([does, ...lines]) => [`# ${does}`, ...lines].join('\n')).join('\n\n')),
    ...sections.flatMap(({ title, text, rows }) => [
      `**${title}**`,
      ...(text ?? '').split('\n').filter(Boolean).map(prose),
      ...(rows === undefined ? [] : [table(rows.map(([term, what]) => [code(term), prose(what)]))]),
    ]),
  ]
}

function flagTable(flags) {
  const rows = flags.map(({ name, short, placeholder, summary, values }) => {
    const form = `${short === null ? '' : `${short}, `}${name}${placeholder === null ? '' : ` <${placeholder}>`}`
    const words =
      values === null || values.every((value) => summary.includes(value)) ? '' : `: ${values.map(code).join(', ')}`
    return [code(form), prose(summary) + words]
  })
  return table(rows)
}

const table = (rows) => ['| | |', '|---|---|', ...rows.map((cells) => `| ${cells.map(cell).join(' | ')} |`)].join('\n')

const cell = (text) => text.replaceAll('|', '\\|')
const code = (text) => `\`${text}\``
const shell = (text) => `\`\`\`sh\n${text}\n\`\`\``
const link = (heading) => `[${heading}](#${heading.replaceAll(' ', '-')})`

/** Text as it stands: nothing in it is markup. */
const prose = (text) => text.replaceAll(/[\\`*_<>[\]#]/g, '\\$&')
