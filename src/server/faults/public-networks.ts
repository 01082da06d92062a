import { GdnError } from '../../core/errors.ts'

/** Faults are for chains that cost nothing: what is real must not be made to fail on purpose. */
export function refuseOnPublicNetworks({ embedded }: { readonly embedded: boolean }): void {
  if (embedded) return
  throw new GdnError('usage', "faults can't be injected on a public network", {
    place: { flag: '--faults' },
    hint: 'use them on a backend whose chains are all embedded',
  })
}
