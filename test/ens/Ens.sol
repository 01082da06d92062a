// SPDX-License-Identifier: MIT
pragma solidity ^0.8.26;

// The interfaces of ENS that the test needs: a universal resolver (ENSIP-23), and resolvers of several kinds.

error OffchainLookup(address sender, string[] urls, bytes callData, bytes4 callbackFunction, bytes extraData);

struct Request {
  address sender;
  string[] urls;
  bytes data;
}

interface IRegistry {
  function resolver(bytes32 node) external view returns (address);
}

interface IExtendedResolver {
  function resolve(bytes calldata name, bytes calldata data) external view returns (bytes memory);
}

interface IBatchGateway {
  function query(Request[] calldata requests) external view returns (bool[] memory, bytes[] memory);
}

interface IAddr {
  function addr(bytes32 node, uint256 coinType) external view returns (bytes memory);
}

/// Finds the resolver of a name or of its nearest parent (ENSIP-10), and has the client ask gateways in a batch.
contract UniversalResolver {
  error ResolverNotFound(bytes name);
  error ResolverNotContract(bytes name, address resolver);
  error UnsupportedResolverProfile(bytes4 selector);
  error ResolverError(bytes errorData);
  error HttpError(uint16 status, string message);

  struct Lookup {
    address resolver;
    bool isExtended;
    bytes4 selector;
    bytes4 callback;
    bytes extraData;
    string[] gateways;
  }

  IRegistry private immutable registry;

  constructor(IRegistry ens) {
    registry = ens;
  }

  function resolveWithGateways(bytes calldata name, bytes calldata data, string[] calldata gateways)
    external
    view
    returns (bytes memory, address)
  {
    Lookup memory lookup;
    uint256 offset;
    (lookup.resolver,, offset) = find(name, 0);
    if (lookup.resolver == address(0)) revert ResolverNotFound(name);
    if (lookup.resolver.code.length == 0) revert ResolverNotContract(name, lookup.resolver);
    lookup.isExtended = supportsExtended(lookup.resolver);
    if (!lookup.isExtended && offset != 0) revert ResolverNotFound(name);
    (lookup.selector, lookup.gateways) = (bytes4(data), gateways);
    bytes memory query = lookup.isExtended ? abi.encodeCall(IExtendedResolver.resolve, (name, data)) : data;
    (bool ok, bytes memory result) = lookup.resolver.staticcall(query);
    return finish(ok, result, lookup);
  }

  function resolveCallback(bytes calldata response, bytes calldata extraData)
    external
    view
    returns (bytes memory, address)
  {
    Lookup memory lookup = abi.decode(extraData, (Lookup));
    (bool[] memory failures, bytes[] memory responses) = abi.decode(response, (bool[], bytes[]));
    if (failures[0]) {
      bytes memory failure = responses[0];
      if (bytes4(failure) != HttpError.selector) revert ResolverError(failure);
      assembly {
        revert(add(failure, 32), mload(failure))
      }
    }
    bytes memory query = abi.encodeWithSelector(lookup.callback, responses[0], lookup.extraData);
    (bool ok, bytes memory result) = lookup.resolver.staticcall(query);
    return finish(ok, result, lookup);
  }

  function finish(bool ok, bytes memory result, Lookup memory lookup) private view returns (bytes memory, address) {
    if (result.length == 0) revert UnsupportedResolverProfile(lookup.selector);
    if (ok) return (lookup.isExtended ? abi.decode(result, (bytes)) : result, lookup.resolver);
    if (bytes4(result) != OffchainLookup.selector) revert ResolverError(result);
    lookUp(argumentsOf(result), lookup);
  }

  function lookUp(bytes memory arguments, Lookup memory lookup) private view {
    Request[] memory requests = new Request[](1);
    Request memory request = requests[0];
    (request.sender, request.urls, request.data, lookup.callback, lookup.extraData) =
      abi.decode(arguments, (address, string[], bytes, bytes4, bytes));
    require(request.sender == lookup.resolver);
    bytes memory batch = abi.encodeCall(IBatchGateway.query, (requests));
    revert OffchainLookup(address(this), lookup.gateways, batch, this.resolveCallback.selector, abi.encode(lookup));
  }

  function find(bytes memory name, uint256 offset) private view returns (address, bytes32, uint256) {
    uint256 size = uint8(name[offset]);
    if (size == 0) return (registry.resolver(0), 0, offset);
    (address resolver, bytes32 node, uint256 found) = find(name, offset + 1 + size);
    bytes memory label = new bytes(size);
    for (uint256 i; i < size; ++i) label[i] = name[offset + 1 + i];
    node = keccak256(abi.encodePacked(node, keccak256(label)));
    address own = registry.resolver(node);
    return own == address(0) ? (resolver, node, found) : (own, node, offset);
  }

  function supportsExtended(address resolver) private view returns (bool) {
    (bool ok, bytes memory result) =
      resolver.staticcall(abi.encodeWithSignature("supportsInterface(bytes4)", bytes4(0x9061b923)));
    return ok && result.length == 32 && abi.decode(result, (bool));
  }

  function argumentsOf(bytes memory data) private pure returns (bytes memory result) {
    result = new bytes(data.length - 4);
    for (uint256 i; i < result.length; ++i) result[i] = data[i + 4];
  }
}

abstract contract Extended is IExtendedResolver {
  function supportsInterface(bytes4 id) external pure returns (bool) {
    return id == 0x9061b923 || id == 0x01ffc9a7;
  }
}

/// Gives all subnames one record.
contract WildcardResolver is Extended {
  uint256 private immutable coin;
  bytes private record;

  constructor(uint256 coinType, bytes memory bytesOfRecord) {
    coin = coinType;
    record = bytesOfRecord;
  }

  function resolve(bytes calldata, bytes calldata data) external view returns (bytes memory) {
    if (bytes4(data) != IAddr.addr.selector) return abi.encode(address(0));
    (, uint256 coinType) = abi.decode(data[4:], (bytes32, uint256));
    return abi.encode(coinType == coin ? record : bytes(""));
  }
}

/// The records are at a gateway, which signs them (CCIP-Read).
contract OffchainResolver is Extended {
  address private immutable signer;
  string[] private urls;

  constructor(address gatewaySigner, string[] memory gatewayUrls) {
    signer = gatewaySigner;
    urls = gatewayUrls;
  }

  function resolve(bytes calldata name, bytes calldata data) external view returns (bytes memory) {
    bytes memory query = abi.encodeCall(IExtendedResolver.resolve, (name, data));
    revert OffchainLookup(address(this), urls, query, this.verify.selector, query);
  }

  function verify(bytes calldata response, bytes calldata query) external view returns (bytes memory) {
    (bytes memory result, uint8 v, bytes32 r, bytes32 s) = abi.decode(response, (bytes, uint8, bytes32, bytes32));
    require(ecrecover(keccak256(abi.encode(keccak256(query), result)), v, r, s) == signer, "wrong signature");
    return result;
  }
}

/// Asks its gateway again and again.
contract EndlessResolver is Extended {
  string[] private urls;

  constructor(string[] memory gatewayUrls) {
    urls = gatewayUrls;
  }

  function resolve(bytes calldata, bytes calldata data) external view returns (bytes memory) {
    revert OffchainLookup(address(this), urls, data, this.again.selector, data);
  }

  function again(bytes calldata, bytes calldata data) external view returns (bytes memory) {
    revert OffchainLookup(address(this), urls, data, this.again.selector, data);
  }
}

/// A resolver from before records for several coins.
contract OldResolver {
  address private immutable owner;

  constructor(address account) {
    owner = account;
  }

  function addr(bytes32) external view returns (address) {
    return owner;
  }
}

/// Reverts with a reason.
contract BrokenResolver {
  function addr(bytes32, uint256) external pure returns (bytes memory) {
    revert("out of order");
  }
}
