import type { Endpoint } from './endpoint.ts'

/**
 * Loaders of all endpoint contracts, first those of the reference and then the extensions. A contract is loaded only
 * when needed, because building all schemas takes longer than a call to a local server.
 */
const CONTRACT_LOADERS = {
  createnft: async () => (await import('./endpoints/createnft.ts')).createnft,
  transfernft: async () => (await import('./endpoints/transfernft.ts')).transfernft,
  createnfttrans: async () => (await import('./endpoints/createnfttrans.ts')).createnfttrans,
  getnftgdnids: async () => (await import('./endpoints/getnftgdnids.ts')).getnftgdnids,
  getnfts: async () => (await import('./endpoints/getnfts.ts')).getnfts,
  getisgdnnft: async () => (await import('./endpoints/getisgdnnft.ts')).getisgdnnft,
  createcollection: async () => (await import('./endpoints/createcollection.ts')).createcollection,
  creatednft: async () => (await import('./endpoints/creatednft.ts')).creatednft,
  updatednft: async () => (await import('./endpoints/updatednft.ts')).updatednft,
  getpresignedurl: async () => (await import('./endpoints/getpresignedurl.ts')).getpresignedurl,
  getcollections: async () => (await import('./endpoints/getcollections.ts')).getcollections,
  getcollectionsettings: async () => (await import('./endpoints/getcollectionsettings.ts')).getcollectionsettings,
  freezenft: async () => (await import('./endpoints/freezenft.ts')).freezenft,
  burnnft: async () => (await import('./endpoints/burnnft.ts')).burnnft,
  commitprovenance: async () => (await import('./endpoints/commitprovenance.ts')).commitprovenance,
  getprovenances: async () => (await import('./endpoints/getprovenances.ts')).getprovenances,
  gettransactions: async () => (await import('./endpoints/gettransactions.ts')).gettransactions,
  getnfthistory: async () => (await import('./endpoints/getnfthistory.ts')).getnfthistory,
  getnftowners: async () => (await import('./endpoints/getnftowners.ts')).getnftowners,
  getsupply: async () => (await import('./endpoints/getsupply.ts')).getsupply,
  getreferences: async () => (await import('./endpoints/getreferences.ts')).getreferences,
  getcontentreferences: async () => (await import('./endpoints/getcontentreferences.ts')).getcontentreferences,
  relabelreferences: async () => (await import('./endpoints/relabelreferences.ts')).relabelreferences,
  aliasreferences: async () => (await import('./endpoints/aliasreferences.ts')).aliasreferences,
  getfees: async () => (await import('./endpoints/getfees.ts')).getfees,
  getruncosts: async () => (await import('./endpoints/getruncosts.ts')).getruncosts,
  setrunmaxcost: async () => (await import('./endpoints/setrunmaxcost.ts')).setrunmaxcost,
  setrunmaxfee: async () => (await import('./endpoints/setrunmaxfee.ts')).setrunmaxfee,
  files: async () => (await import('./endpoints/files.ts')).files,
} satisfies Record<string, () => Promise<Endpoint>>

export type EndpointName = keyof typeof CONTRACT_LOADERS

export type Contracts = { [Name in EndpointName]: Awaited<ReturnType<(typeof CONTRACT_LOADERS)[Name]>> }

const TYPED_LOADERS: { [Name in EndpointName]: () => Promise<Contracts[Name]> } = CONTRACT_LOADERS

export const ENDPOINT_NAMES = Object.keys(CONTRACT_LOADERS) as EndpointName[]

export type CreatingEndpoint = {
  [Name in EndpointName]: Contracts[Name]['creates'] extends null ? never : Name
}[EndpointName]

/** Returns the endpoint at a path such as `/api/v1/getnfts`, with or without a trailing slash. */
export function endpointAt(path: string): EndpointName | undefined {
  return ENDPOINT_NAMES.find((name) => path === `/api/v1/${name}` || path === `/api/v1/${name}/`)
}

export async function loadEndpoint<Name extends EndpointName>(name: Name): Promise<Contracts[Name]> {
  return await TYPED_LOADERS[name]()
}

export async function loadEndpoints(): Promise<Contracts> {
  const loaded = await Promise.all(ENDPOINT_NAMES.map(async (name) => [name, await loadEndpoint(name)] as const))
  return Object.fromEntries(loaded) as Contracts
}
