// Look-alikes within one script (UTS #39) that ENSIP-15 permits. ENSIP-15 rejects most other look-alikes.
const LOOK_ALIKES: readonly (readonly [RegExp, string])[] = [
  [/rn/g, 'm'],
  [/vv/g, 'w'],
  [/0/g, 'o'],
  [/[1i]/g, 'l'],
]
/** Katakana characters and the kanji that they look like. */
const KATAKANA = new Map(
  [...'ロ口ニ二ハ八カ力タ夕エ工ト卜'.matchAll(/(.)(.)/gu)].map(([, kana = '', kanji = '']) => [kana, kanji]),
)

/** Returns a text that is the same for all names that look alike. */
function skeletonOf(name: string): string {
  const latin = LOOK_ALIKES.reduce((text, [pattern, letter]) => text.replace(pattern, letter), name)
  return latin.replace(/[ロニハカタエト]/gu, (letter) => KATAKANA.get(letter) ?? letter)
}

type NamedAddress = readonly [name: string, address: string]

/** Returns pairs of different names that look alike and have different addresses. */
export const findLookAlikes = (names: readonly NamedAddress[], limit: number): [NamedAddress, NamedAddress][] =>
  pairsBy(names, ([name]) => skeletonOf(name), limit).filter(
    ([[, first], [, second]]) => first.toLowerCase() !== second.toLowerCase(),
  )

/** Returns pairs of different names that have the same address. */
export const findSameAddressNames = (names: readonly NamedAddress[], limit: number): [NamedAddress, NamedAddress][] =>
  pairsBy(names, ([, address]) => address.toLowerCase(), limit)

/** Pairs each name with the first name that has the same key. */
function pairsBy(
  names: readonly NamedAddress[],
  keyOf: (name: NamedAddress) => string,
  limit: number,
): [NamedAddress, NamedAddress][] {
  const first = new Map<string, NamedAddress>()
  const pairs: [NamedAddress, NamedAddress][] = []
  for (const name of names) {
    const key = keyOf(name)
    const other = first.get(key)
    if (other === undefined) first.set(key, name)
    else if (pairs.length < limit) pairs.push([other, name])
  }
  return pairs
}
