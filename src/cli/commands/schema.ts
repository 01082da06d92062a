import { GdnError } from '../../core/errors.ts'
import { nearest } from '../../core/nearest.ts'
import { quoted } from '../../core/quoted.ts'
import { GdnCommand } from '../command.ts'
import type { Deps } from '../deps.ts'
import { addOutputFlags, type OutputFlags } from '../flags/common.ts'
import { createOutput, type View } from '../render/output.ts'
import { loadSchema, SCHEMA_NAMES, SCHEMAS } from '../schema/schemas.ts'

const VIEW: View = { fields: ['name', 'summary'], columns: ['name', 'summary'], id: 'name' }

export function command(deps: Deps, run = schema): GdnCommand {
  return new GdnCommand({
    about:
      'The command prints a JSON Schema (draft 2020-12), so that your editor can complete, explain and check a file. Without a name, it lists the schemas. In a JSON file, reference the schema in the field $schema, which gdn ignores. In a YAML file, reference the schema in the first line: # yaml-language-server: $schema=backend.schema.json',
    examples: [
      ['List the schemas', 'gdn schema'],
      ['Save the schema of backend.yaml', 'gdn schema backend > backend.schema.json'],
      ['Save the schema of a request', 'gdn schema createnft > createnft.schema.json'],
    ],
  })
    .wordArgument('[name]', SCHEMA_NAMES)
    .with(addOutputFlags)
    .action(async (name: string | undefined, flags: OutputFlags) => await run(deps, name, flags))
}

export async function schema(
  { io }: Pick<Deps, 'io'>,
  typedName: string | undefined,
  flags: OutputFlags,
): Promise<void> {
  const output = createOutput(io, flags, VIEW)
  if (typedName === undefined)
    return await output.many(SCHEMA_NAMES.map((name) => ({ name, summary: SCHEMAS[name].summary })))
  const name = SCHEMA_NAMES.find((candidate) => candidate === typedName)
  if (name === undefined) {
    const near = nearest(typedName, SCHEMA_NAMES)
    throw new GdnError('usage', `unknown schema ${quoted(typedName)}`, {
      hint: near === undefined ? 'Run `gdn schema` to list the schemas.' : `Did you mean ${near}?`,
    })
  }
  refuseOtherForms(flags)
  const isShort = flags.json === true || flags.output !== undefined
  await io.data(`${JSON.stringify(await loadSchema(name), null, isShort ? undefined : 2)}\n`)
}

/** Rejects --fields and other formats, because a schema is one JSON document. */
function refuseOtherForms({ output, fields }: OutputFlags): void {
  const isJson = output === undefined || output === 'json' || output === 'ndjson'
  if (isJson && fields === undefined) return
  throw new GdnError('usage', 'a schema is printed as JSON, with all its fields', {
    place: { flag: isJson ? '--fields' : '--output' },
    hint: 'Omit the flag, or use --json to print the schema on one line.',
  })
}
