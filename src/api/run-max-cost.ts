/** The cost limit of a run in a request, sent in the header `gdn-run-max-cost`. */
export interface RunMaxCost {
  wei: bigint
  /** Whether the user set the limit explicitly. Only an explicit limit can raise the run's limit. */
  isSet: boolean
}

/** Formats the value of the header, such as `1000` or `1000;set`. */
export const formatRunMaxCost = ({ wei, isSet }: RunMaxCost): string => `${wei}${isSet ? ';set' : ''}`

/** Parses the value of the header. Returns null if it is invalid. */
export function parseRunMaxCost(header: string): RunMaxCost | null {
  const [, wei, set] = /^([0-9]{1,40})(;set)?$/.exec(header) ?? []
  return wei === undefined ? null : { wei: BigInt(wei), isSet: set !== undefined }
}
