import type { Json } from '../../api/openapi/json-schema.ts'

interface SchemaEntry {
  summary: string
  load: () => Promise<Json>
}

const createRequestEntry = (endpoint: RequestName, summary: string): SchemaEntry => ({
  summary,
  load: async () => await (await import('./request-schema.ts')).requestSchema(endpoint),
})

type RequestName = Parameters<typeof import('./request-schema.ts')['requestSchema']>[0]

/** All schemas by name, in the order in which `gdn schema` lists them. */
export const SCHEMAS = {
  manifest: {
    summary: 'A JSON manifest: a list of rows, a request, or one row',
    load: async () => (await import('../../manifest/json-schema.ts')).manifestSchema(),
  },
  'manifest-row': {
    summary: 'A row of a manifest: one line of JSONL',
    load: async () => (await import('../../manifest/json-schema.ts')).rowSchema(),
  },
  metadata: {
    summary: 'Metadata for gdn nft update -f',
    load: async () => (await import('./request-schema.ts')).updateSchema(),
  },
  createcollection: createRequestEntry('createcollection', 'A request for gdn collection create -f'),
  createnft: createRequestEntry('createnft', 'A request for gdn nft mint -f'),
  createnfttrans: createRequestEntry('createnfttrans', 'A request for gdn nft grant -f'),
  transfernft: createRequestEntry('transfernft', 'A request for gdn nft transfer -f'),
  creatednft: createRequestEntry('creatednft', 'A request for gdn api creatednft -f'),
  updatednft: createRequestEntry('updatednft', 'A request for gdn api updatednft -f'),
  freezenft: createRequestEntry('freezenft', 'A request for gdn api freezenft -f'),
  burnnft: createRequestEntry('burnnft', 'A request for gdn api burnnft -f'),
  commitprovenance: createRequestEntry('commitprovenance', 'A request for gdn api commitprovenance -f'),
  art: {
    summary: 'Layers, traits and rules of generated art: art.yaml',
    load: async () => (await import('./art-schema.ts')).artFileSchema(),
  },
  config: {
    summary: 'The configuration of a project: .gdnrc.json, .gdnrc.yaml or gdn.config.json',
    load: async () => (await import('./config-schema.ts')).projectSchema(),
  },
  'user-config': {
    summary: 'Your own configuration: the file whose path gdn config path prints',
    load: async () => (await import('./config-schema.ts')).userSchema(),
  },
  backend: {
    summary: 'The configuration of a backend: backend.yaml',
    load: async () => (await import('./backend-schema.ts')).backendSchema(),
  },
} satisfies Record<string, SchemaEntry>

export type SchemaName = keyof typeof SCHEMAS

export const SCHEMA_NAMES = Object.keys(SCHEMAS) as SchemaName[]

export async function loadSchema(name: SchemaName): Promise<Json> {
  const { summary, load } = SCHEMAS[name]
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    // This ID is relative, because the schema isn't published. It resolves to the folder in which the user saves the
    // file.
    $id: `${name}.schema.json`,
    title: `gdn: ${name}`,
    description: summary,
    ...(await load()),
  }
}
