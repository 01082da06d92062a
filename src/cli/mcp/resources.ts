import { ErrorCode } from '@modelcontextprotocol/sdk/types.js'
import { tryDecodeComponent } from '../../core/decode-component.ts'
import { markAsThirdParty, withoutControls } from './result.ts'
import type { CallContext, McpSession } from './session.ts'

const RESOURCE_KINDS = {
  runs: {
    list: 'batch list',
    show: 'batch status',
    argument: 'run',
    field: 'run',
    title: 'Runs of drops on this machine',
  },
  collections: {
    list: 'collection list',
    show: 'collection show',
    argument: 'id_or_address',
    field: 'contract_address',
    title: 'Collections created on this machine',
  },
} as const

type ResourceKind = keyof typeof RESOURCE_KINDS
const isKind = (name: string): name is ResourceKind => Object.hasOwn(RESOURCE_KINDS, name)

const mimeType = 'text/plain'

export const TEMPLATES = [
  { uriTemplate: 'gdn://runs/{name}', name: 'run', title: 'Rows of a run by state', mimeType },
  { uriTemplate: 'gdn://collections/{address}', name: 'collection', title: 'A collection', mimeType },
]

export const listResources = () => ({
  resources: Object.entries(RESOURCE_KINDS).map(([name, { title }]) => ({
    uri: `gdn://${name}`,
    name,
    title,
    mimeType,
  })),
})

/** Reads a resource. Marks its text as third-party data. */
export async function readResource(session: McpSession, uri: string, context: CallContext) {
  const [, kind = '', name] = /^gdn:\/\/([a-z]+)(?:\/(.+))?$/.exec(uri) ?? []
  const value = name === undefined ? undefined : tryDecodeComponent(name)
  if (!isKind(kind) || value === null) throw invalidParamsError(`there is no resource ${uri}`)
  const { list, show, argument } = RESOURCE_KINDS[kind]
  const values = value === undefined ? {} : { [argument]: kind === 'runs' ? value : [value] }
  const { data, error } = await session.call(session.toolbox.get(value === undefined ? list : show), values, context)
  // Don't include the error message. It may contain third-party text, which wouldn't be marked here.
  if (error !== null) throw invalidParamsError(`${uri} can't be read: ${error.code}`)
  return { contents: [{ uri, mimeType, text: markAsThirdParty(uri, withoutControls(data)) }] }
}

const invalidParamsError = (message: string) => Object.assign(new Error(message), { code: ErrorCode.InvalidParams })

interface CompletionRequest {
  ref: { type: string; uri?: string | undefined }
  argument: { value: string }
}

const MAX_COMPLETED_NAMES = 100

/** Completes run names and collection addresses. */
export async function completeName(session: McpSession, { ref, argument }: CompletionRequest, context: CallContext) {
  const [, kind = ''] = /^gdn:\/\/([a-z]+)\//.exec(ref.uri ?? '') ?? []
  if (!isKind(kind)) return { completion: { values: [] } }
  const { list, field } = RESOURCE_KINDS[kind]
  const { data } = await session.call(session.toolbox.get(list), {}, context)
  const records = Array.isArray(data) ? (withoutControls(data) as Record<string, unknown>[]) : []
  const names = records.flatMap((record) => {
    const name = record[field]
    return typeof name === 'string' && name.startsWith(argument.value) ? [name] : []
  })
  return { completion: { values: names.slice(0, MAX_COMPLETED_NAMES), total: names.length } }
}
