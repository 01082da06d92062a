import { type Abi, encodeDeployData, encodeFunctionData, type Hex } from 'viem'
import { compileSolidity } from '../../src/build/contracts.mjs'
import type { PlainAnvil } from '../helpers/plain-anvil.ts'

const PRAGMA = '// SPDX-License-Identifier: MIT\npragma solidity ^0.8.26;\n'
const OZ = '@openzeppelin/contracts/token'

/** Contracts of other authors, with functions that let anybody mint, move and burn. */
const SOURCES = {
  'Oz721.sol': `${PRAGMA}
import {ERC721} from "${OZ}/ERC721/ERC721.sol";
import {ERC721Enumerable} from "${OZ}/ERC721/extensions/ERC721Enumerable.sol";
contract Oz721 is ERC721Enumerable {
  constructor() ERC721("Tide", "T") {}
  function mint(address to, uint256 id) external { _mint(to, id); }
  function mintMany(address[] calldata to, uint256 from) external { for (uint256 i; i < to.length; ++i) _mint(to[i], from + i); }
  function move(address from, address to, uint256 id) external { _transfer(from, to, id); }
  function burn(uint256 id) external { _burn(id); }
}`,
  'OzConsecutive.sol': `${PRAGMA}
import {ERC721} from "${OZ}/ERC721/ERC721.sol";
import {ERC721Consecutive} from "${OZ}/ERC721/extensions/ERC721Consecutive.sol";
contract OzConsecutive is ERC721Consecutive {
  constructor(address[] memory to, uint96 size) ERC721("Range", "R") {
    for (uint256 i; i < to.length; ++i) _mintConsecutive(to[i], size);
  }
  function move(address from, address to, uint256 id) external { _transfer(from, to, id); }
  function burn(uint256 id) external { _burn(id); }
}`,
  'Oz1155.sol': `${PRAGMA}
import {ERC1155} from "${OZ}/ERC1155/ERC1155.sol";
contract Oz1155 is ERC1155 {
  constructor() ERC1155("") {}
  function mint(address to, uint256 id, uint256 n) external { _mint(to, id, n, ""); }
  function mintBatch(address to, uint256[] calldata ids, uint256[] calldata n) external { _mintBatch(to, ids, n, ""); }
  function move(address from, address to, uint256 id, uint256 n) external { _safeTransferFrom(from, to, id, n, ""); }
  function burn(address from, uint256 id, uint256 n) external { _burn(from, id, n); }
}`,
  'Oz20.sol': `${PRAGMA}
import {ERC20} from "${OZ}/ERC20/ERC20.sol";
contract Oz20 is ERC20 {
  constructor() ERC20("Coin", "C") {}
  function mint(address to, uint256 n) external { _mint(to, n); }
  function move(address from, address to, uint256 n) external { _transfer(from, to, n); }
  function burn(address from, uint256 n) external { _burn(from, n); }
}`,
  'A721.sol': `${PRAGMA}
import {ERC721AUpgradeable} from "erc721a-upgradeable/contracts/ERC721AUpgradeable.sol";
contract A721 is ERC721AUpgradeable {
  constructor() initializerERC721A { __ERC721A_init("Fast", "F"); }
  function mint(address to, uint256 n) external { _mint(to, n); }
  function mintRange(address to, uint256 n) external { _mintERC2309(to, n); }
  function burn(uint256 id) external { _burn(id); }
}`,
  // Balances that grow without events.
  'Rebasing.sol': `${PRAGMA}
contract Rebasing {
  event Transfer(address indexed from, address indexed to, uint256 value);
  mapping(address => uint256) shares; uint256 public factor = 1; uint256 total;
  uint8 public constant decimals = 18;
  function mint(address to, uint256 n) external { shares[to] += n; total += n; emit Transfer(address(0), to, n); }
  function rebase() external { factor = 2; }
  function balanceOf(address a) external view returns (uint256) { return shares[a] * factor; }
  function totalSupply() external view returns (uint256) { return total; }
}`,
  // As CryptoKitties: no parameter is indexed, and ERC-165 has another ID.
  'Unindexed.sol': `${PRAGMA}
contract Unindexed {
  event Transfer(address from, address to, uint256 tokenId);
  mapping(uint256 => address) public ownerOf; mapping(address => uint256) public balanceOf; uint256 public totalSupply;
  function mint(address to, uint256 id) external { ownerOf[id] = to; ++balanceOf[to]; ++totalSupply; emit Transfer(address(0), to, id); }
  function cheat(address a, address b) external { ++balanceOf[a]; --balanceOf[b]; }
}`,
  // A proxy whose implementation changes, without the rest of a proxy.
  'Upgradable.sol': `${PRAGMA}
contract Upgradable {
  event Transfer(address indexed from, address indexed to, uint256 value);
  event Upgraded(address indexed implementation);
  mapping(address => uint256) public balanceOf; uint256 public totalSupply; uint8 public constant decimals = 18;
  constructor() { emit Upgraded(address(this)); }
  function mint(address to, uint256 n) external { balanceOf[to] += n; totalSupply += n; emit Transfer(address(0), to, n); }
  function upgrade() external { emit Upgraded(msg.sender); }
  function cheat(address a, address b) external { ++balanceOf[a]; --balanceOf[b]; }
}`,
  'NoToken.sol': `${PRAGMA}
contract NoToken { uint256 public answer = 42; }`,
  // An event of 2^96 tokens.
  'Bomb.sol': `${PRAGMA}
contract Bomb {
  event ConsecutiveTransfer(uint256 indexed fromTokenId, uint256 toTokenId, address indexed from, address indexed to);
  event Transfer(address indexed from, address indexed to, uint256 indexed tokenId);
  address immutable first; address second;
  constructor(address to) { first = to; emit ConsecutiveTransfer(1, 2 ** 96, address(0), to); }
  function move(address to) external { second = to; emit Transfer(first, to, 7); }
  function supportsInterface(bytes4 id) external pure returns (bool) { return id == 0x80ac58cd; }
  function ownerOf(uint256 id) external view returns (address) { return id == 7 && second != address(0) ? second : first; }
  function balanceOf(address a) external view returns (uint256) {
    return second == address(0) ? (a == first ? 2 ** 96 : 0) : a == first ? 2 ** 96 - 1 : a == second ? 1 : 0;
  }
}`,
}

export type ContractName =
  | 'Oz721'
  | 'OzConsecutive'
  | 'Oz1155'
  | 'Oz20'
  | 'A721'
  | 'Rebasing'
  | 'Unindexed'
  | 'Upgradable'
  | 'NoToken'
  | 'Bomb'

let compiled: ReturnType<typeof compileSolidity> | undefined

export interface Deployed {
  address: Hex
  /** Sends a transaction in a block of its own. */
  send(functionName: string, ...args: unknown[]): Promise<void>
}

/** Deploys one of the contracts. */
export async function deploy(anvil: PlainAnvil, name: ContractName, ...args: unknown[]): Promise<Deployed> {
  compiled ??= compileSolidity(SOURCES)
  const contract = compiled[name]
  if (contract === undefined) throw new Error(`there is no contract ${name}`)
  const abi = contract.abi as Abi
  const [from] = anvil.accounts
  if (from === undefined) throw new Error('anvil has no account')
  const nonce = await anvil.request<Hex>('eth_getTransactionCount', [from, 'latest'])
  const { getContractAddress } = await import('viem')
  const address = getContractAddress({ from, nonce: BigInt(nonce) })
  await anvil.send(from, null, encodeDeployData({ abi, bytecode: contract.bytecode, args }))
  return {
    address,
    async send(functionName, ...parameters) {
      await anvil.send(from, address, encodeFunctionData({ abi, functionName, args: parameters }))
    },
  }
}
