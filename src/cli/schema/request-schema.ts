import { type EndpointName, loadEndpoint } from '../../api/endpoints.ts'
import { ENS_FORM } from '../../api/ens-name.ts'
import { nftMetadataSchema } from '../../api/metadata.ts'
import { ENDPOINT_NOTES } from '../../api/openapi/field-notes.ts'
import {
  ADDRESS_FORMS,
  addressesOfBlockchain,
  EVM_ADDRESS,
  fieldRules,
  textPattern,
} from '../../api/openapi/fields-schema.ts'
import { type Json, jsonSchema } from '../../api/openapi/json-schema.ts'
import { CONTACT_FORM, SCHEMA_FIELD_SCHEMA } from '../../manifest/json-schema.ts'
import { NAMED_FIELDS } from '../request/named-addresses.ts'

/**
 * The fields that a request in a file must contain, for endpoints that have a command. The command's flags and the
 * configuration supply the other fields.
 */
const REQUIRED_FIELDS: Readonly<Partial<Record<EndpointName, readonly string[]>>> = {
  createcollection: [],
  createnft: ['metadata'],
  createnfttrans: ['metadata'],
  transfernft: [],
}

type ObjectSchema = { properties: Record<string, Json>; required?: readonly string[] } & Json

const withSchemaField = ({ properties, ...rest }: ObjectSchema): ObjectSchema => ({
  ...rest,
  properties: { $schema: SCHEMA_FIELD_SCHEMA, ...properties },
})

/** Returns the schema of a request in a file. */
export async function requestSchema(name: EndpointName): Promise<Json> {
  const { request } = await loadEndpoint(name)
  const fileSchema = withSchemaField(jsonSchema(request, 'input', ENDPOINT_NOTES[name], fieldRules) as ObjectSchema)
  const { properties } = fileSchema
  const required = REQUIRED_FIELDS[name]
  if (required === undefined) return fileSchema
  const addressFields = NAMED_FIELDS.filter((field) => field in properties)
  for (const field of addressFields)
    Object.assign(properties[field] ?? {}, textPattern([...ADDRESS_FORMS, CONTACT_FORM, ENS_FORM]))
  if ('royalty_receiver' in properties) {
    Object.assign(properties.royalty_receiver ?? {}, textPattern([...ADDRESS_FORMS, ENS_FORM]))
  }
  if (name === 'transfernft') properties.tokenid = { ...properties.token_id, deprecated: true }
  const has = (field: string) => field in properties
  const ens = (form: string) => (form === EVM_ADDRESS ? [ENS_FORM] : [])
  return {
    ...fileSchema,
    required,
    allOf: [
      ...addressesOfBlockchain(addressFields, (form) => textPattern([form, CONTACT_FORM, ...ens(form)])),
      ...addressesOfBlockchain(['royalty_receiver'].filter(has), (form) => textPattern([form, ...ens(form)])),
      ...addressesOfBlockchain(['contract_address'].filter(has)),
    ],
  }
}

/** Returns the schema of a metadata file for `gdn nft update`. The file replaces all metadata of an NFT. */
export const updateSchema = (): Json =>
  withSchemaField(jsonSchema(nftMetadataSchema, 'input', {}, fieldRules) as ObjectSchema)
