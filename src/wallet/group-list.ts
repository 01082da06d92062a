import { GdnError, type Place } from '../core/errors.ts'
import { listSome } from '../core/list-some.ts'
import { receiverKey } from '../manifest/receiver-list.ts'
import type { AddressBook } from './address-book.ts'
import { isValidName } from './names.ts'

/** The members of a group as a receiver list. */
export interface GroupList {
  /**
   * One member per line. The lines of repeated members are empty, so that the other members keep their line numbers.
   */
  text: string
  /** A note that names the members with the same address as an earlier member, or null if there are none. */
  note: string | null
}

const MAX_LISTED_MEMBERS = 5

/**
 * Returns the members of a group as a list with each address once. After a group is saved, several of its names can be
 * changed to the same address. A name without an address stays in the list, and the reader of the list reports it with
 * its line.
 *
 * @throws GdnError as `AddressBook.group` does
 */
export function buildGroupList(book: AddressBook, group: string, place: Place): GroupList {
  const first = new Map<string, string>()
  const repeated: string[] = []
  const { name, members } = book.group(group, place)
  const lines = members.map((member) => {
    const address = memberAddress(book, member)
    if (address === null) return member
    const key = receiverKey(address)
    const earlier = first.get(key)
    if (earlier === undefined) first.set(key, member)
    else repeated.push(`${member} (same as ${earlier})`)
    return earlier === undefined ? member : ''
  })
  return { text: `${lines.join('\n')}\n`, note: formatNote(name, repeated) }
}

function memberAddress(book: AddressBook, member: string): string | null {
  try {
    return isValidName(member) ? book.resolve(member, {}) : member
  } catch (error) {
    if (error instanceof GdnError) return null
    throw error
  }
}

function formatNote(group: string, repeated: readonly string[]): string | null {
  if (repeated.length === 0) return null
  const members = listSome(repeated.slice(0, MAX_LISTED_MEMBERS), repeated.length, ' and')
  return `@${group} has several members with the same address, which count as one: ${members}`
}
