import { GdnError } from '../../core/errors.ts'

/** Rejects fault injection on public networks, where it would risk real funds. */
export function refuseOnPublicNetworks({ embedded }: { readonly embedded: boolean }): void {
  if (embedded) return
  throw new GdnError('usage', "faults can't be injected on a public network", {
    place: { flag: '--faults' },
    hint: 'Inject faults only on a backend whose chains are all embedded.',
  })
}
