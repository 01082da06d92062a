/** Returns the man page gdn(1), in the macros of man(7), which both groff and mandoc support. */
export function manPage({ tree, topics }) {
  const { name, version, summary, groups, commands, flags } = tree
  return [
    `.TH ${name.toUpperCase()} 1 "" "${name} ${version}" "User Commands"`,
    section('NAME', [`${name} \\- ${text(firstLower(summary.replace(/[:.].*$/, '')))}`]),
    section('SYNOPSIS', ['.B gdn', text('<command> [flags]')]),
    section('DESCRIPTION', [
      text(summary),
      ...paragraph('Run any command with --help to show its examples and flags.'),
    ]),
    section(
      'COMMANDS',
      groups.flatMap(({ title, entries }) => [`.SS ${text(title)}`, ...entries.flatMap(asTerm)]),
    ),
    section('OPTIONS OF EVERY COMMAND', flags.flatMap(flagTerm)),
    ...commands.map(commandSection),
    ...topics.map(topicSection),
    section('SEE ALSO', [text('README.md and docs/ of the package')]),
    '',
  ].join('\n')
}

const section = (title, lines) => [`.SH ${quoted(title)}`, ...lines].join('\n')

function commandSection({ name, summary, about, usage, examples, flags }) {
  const groups = groupFlags(flags)
  return section(`GDN ${name.toUpperCase()}`, [
    text(`${summary}.`),
    ...(about ?? '').split('\n').flatMap((part) => (part === '' ? [] : paragraph(part))),
    ...exampleLines(examples),
    ...paragraph(usage),
    ...[...groups].flatMap(([title, own]) => [`.SS ${quoted(title)}`, ...own.flatMap(flagTerm)]),
  ])
}

function topicSection({ name, about, examples, sections }) {
  return section(name.toUpperCase().replaceAll('-', ' '), [
    text(about),
    ...exampleLines(examples.map(([does, ...lines]) => ({ summary: does, lines }))),
    ...sections.flatMap(({ title, blocks }) => [`.SS ${quoted(title)}`, ...blocks.flatMap(blockLines)]),
  ])
}

function blockLines({ text: prose, header, rows, code, lines }) {
  if (code !== undefined || lines !== undefined) return codeLines(code ?? lines)
  if (prose !== undefined) return paragraph(prose)
  const cells = header === null ? rows : [header, ...rows]
  // A row without a term continues the row above it.
  return cells.flatMap(([name, summary]) => (name === '' ? ['.br', text(summary)] : asTerm({ name, summary })))
}

const codeLines = (lines) => ['.PP', '.RS 4', '.nf', ...lines.map(text), '.fi', '.RE']

const exampleLines = (examples) =>
  examples.flatMap(({ summary, lines }) => [...paragraph(`${summary}:`), ...codeLines(lines)])

const paragraph = (prose) => ['.PP', text(prose)]

const asTerm = ({ name, summary }) => ['.TP', `.B ${text(name)}`, text(summary)]

const flagTerm = ({ name, short, placeholder, summary }) => {
  const forms = short === null ? name : `${short}, ${name}`
  return ['.TP', `.B ${text(forms)}${placeholder === null ? '' : ` ${text(`<${placeholder}>`)}`}`, text(summary)]
}

function groupFlags(flags) {
  const groups = new Map()
  for (const flag of flags) groups.set(flag.group, [...(groups.get(flag.group) ?? []), flag])
  return groups
}

const firstLower = (words) => words.charAt(0).toLowerCase() + words.slice(1)

const quoted = (words) => `"${text(words).replaceAll('"', '\\(dq')}"`

/**
 * Escapes text for roff, so that it contains no escape sequences, begins no line with a macro, and has dashes that can
 * be copied.
 */
function text(words) {
  return words
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll(/[^\n\x20-\x7e]/gu, (char) => `\\[u${char.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}]`)
    .replaceAll(/^(?=[.'])/gm, '\\&')
}
