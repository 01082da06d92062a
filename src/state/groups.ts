import type { Sql } from '../sqlite/shared-database.ts'

/** A saved group of names and addresses (see `gdn wallet group`). */
export interface SavedGroup {
  name: string
  /** Names, such as `@alice`, and addresses in the order in which they were added. A group has at least one member. */
  members: string[]
  /** Time when the first member was added, in milliseconds since the epoch. */
  created_at: number
}

/** Returns all groups, ordered by name. */
export function savedGroups(sql: Pick<Sql, 'all'>): SavedGroup[] {
  const groups = new Map<string, SavedGroup>()
  const rows = sql.all<{ group_name: string; member: string; created_at: number }>(
    'SELECT group_name, member, created_at FROM group_members ORDER BY group_name, position',
  )
  for (const { group_name: name, member, created_at } of rows) {
    const group = groups.get(name)
    if (group === undefined) groups.set(name, { name, members: [member], created_at })
    else group.members.push(member)
  }
  return [...groups.values()]
}

export const hasGroup = (sql: Sql, name: string): boolean =>
  sql.get('SELECT 1 FROM group_members WHERE group_name = ?', name) !== undefined

/**
 * Adds a member to a group, and creates the group if it doesn't exist. Returns false if the group already has the
 * member.
 */
export function addMember(
  sql: Sql,
  { group, member, created_at }: { group: string; member: string; created_at: number },
): boolean {
  const added = sql.run(
    `INSERT INTO group_members SELECT ?, coalesce(max(position), 0) + 1, ?, ? FROM group_members WHERE group_name = ?
     ON CONFLICT DO NOTHING`,
    group,
    member,
    created_at,
    group,
  )
  return added > 0
}

/**
 * Renames a member in all groups. If a group already has a member with the new name, the renamed member replaces it.
 */
export const renameMember = (sql: Sql, from: string, to: string): void => {
  sql.run('UPDATE OR REPLACE group_members SET member = ? WHERE member = ?', to, from)
}

/** Deletes a group and returns whether it existed. Keeps the saved addresses of its members. */
export const deleteGroup = (sql: Sql, name: string): boolean =>
  sql.run('DELETE FROM group_members WHERE group_name = ?', name) > 0
